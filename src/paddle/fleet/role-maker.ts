/** @file Role makers: how a program learns whether it is a worker or a server, which one, and who the others are. */
import { type Cluster, clusterFromEnv, type Env, processEnv, userDefinedCluster } from '../../base/env/index.ts'

/** Paddle's Role; its other members are not part of Oarfish. */
export const Role = { WORKER: 1, SERVER: 2 } as const
export type Role = (typeof Role)[keyof typeof Role]

/** What fleet.init takes. */
export interface RoleMaker {
  /** Reads and checks; throws a UserError that names what is missing or wrong. */
  generateRole(): Cluster
}

/** Options of PaddleCloudRoleMaker. */
export interface PaddleCloudRoleMakerOptions {
  /** @default the process's own */
  readonly env?: Env
}

/** The role by environment variables, which launchers and schedulers set. Without a list of servers the program trains alone. */
export class PaddleCloudRoleMaker implements RoleMaker {
  readonly #env: Env

  constructor({ env = processEnv() }: PaddleCloudRoleMakerOptions = {}) {
    this.#env = env
  }

  generateRole(): Cluster {
    return clusterFromEnv(this.#env)
  }
}

/** Options of UserDefinedRoleMaker. */
export interface UserDefinedRoleMakerOptions {
  /** This process among those of its role, from 0. */
  readonly currentId: number
  readonly role: Role
  /** @default the number of worker endpoints */
  readonly workerNum?: number
  readonly serverEndpoints: readonly string[]
  readonly workerEndpoints?: readonly string[]
  /** For OARFISH_JOB_ID and OARFISH_JOB_TOKEN. @default the process's own */
  readonly env?: Env
}

/** The role as the program itself says it. */
export class UserDefinedRoleMaker implements RoleMaker {
  readonly #options: UserDefinedRoleMakerOptions

  constructor(options: UserDefinedRoleMakerOptions) {
    this.#options = options
  }

  generateRole(): Cluster {
    const { role, env = processEnv(), ...options } = this.#options
    const named = { [Role.WORKER]: 'worker', [Role.SERVER]: 'server' } as const
    return userDefinedCluster({ ...options, env, role: named[role] })
  }
}
