/** @file The one list of executors: what `oarfish cloud serve --executor`, `oarfish run -b` and `oarfish jobs | status | logs | stop` know of them. */
import type { Executor, FactOptions, PlannedJob } from './executor.ts'
import { kubernetes } from './kubernetes.ts'
import { local } from './local.ts'
import { mpi } from './mpi.ts'
import type { Plan } from './plan.ts'
import { slurm } from './slurm.ts'
import { ssh } from './ssh.ts'

/** Kubernetes' own client is loaded when it is first asked for something. */
const EXECUTORS = { local, mpi, slurm, ssh, kubernetes } as const satisfies Readonly<Record<string, Executor>>

export type ExecutorName = keyof typeof EXECUTORS
export const EXECUTOR_NAMES = Object.keys(EXECUTORS) as readonly ExecutorName[]

export const executorOf = (name: ExecutorName): Executor => EXECUTORS[name]

/** The plan that would be applied, from what is found here now. */
export async function planJob(name: ExecutorName, target: PlannedJob, options: FactOptions): Promise<Plan> {
  const executor = executorOf(name)
  return executor.plan(target, await executor.lookUp(target.job, options))
}

/** What runs a job of this machine that goes on by itself, if it does. */
export const submittedBy = (folder: string) => EXECUTOR_NAMES.find((name) => executorOf(name).isSubmitted?.(folder))
