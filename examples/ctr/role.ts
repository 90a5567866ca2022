/** @file Who a process of train.ts is: by its arguments, or by what paddle_k8s found out about its pod. */
import { Role, UserDefinedRoleMaker } from 'oarfish/fleet'
import type { TrainArgs } from './args.ts'

/** Undefined for a process that trains alone. */
export function roleOf(args: TrainArgs, { env } = process): UserDefinedRoleMaker | undefined {
  if (args.isLocal || (args.cloudTrain && env['PADDLE_IS_LOCAL'] === '1')) return undefined
  const { role, endpoints, currentEndpoint, trainerId, trainers } = args.cloudTrain ? podRole(env) : args
  const serverEndpoints = endpoints.split(',')
  const isServer = role.toUpperCase() === 'PSERVER'
  const currentId = isServer ? serverEndpoints.indexOf(currentEndpoint) : trainerId
  if (currentId < 0) throw new Error(`This server is ${currentEndpoint}, which is not one of ${endpoints}.`)
  return new UserDefinedRoleMaker({
    currentId,
    serverEndpoints,
    workerNum: trainers,
    role: isServer ? Role.SERVER : Role.WORKER,
  })
}

/** Every server listens on PADDLE_PORT itself: pods have addresses of their own. */
function podRole(env: NodeJS.ProcessEnv) {
  const of = (name: string) => {
    const value = env[name]
    if (value) return value
    throw new Error(`--cloud_train 1: ${name} is not set; paddle_k8s start_fluid sets it.`)
  }
  return {
    role: of('TRAINING_ROLE'),
    endpoints: of('PADDLE_PSERVERS'),
    currentEndpoint: `${of('POD_IP')}:${of('PADDLE_PORT')}`,
    trainerId: Number(env['PADDLE_TRAINER_ID'] ?? 0),
    trainers: Number(of('PADDLE_TRAINERS_NUM')),
  }
}
