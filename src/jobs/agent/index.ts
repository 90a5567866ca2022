/**
 * @file One node of a submitted job: its files, data and hooks, the processes it starts, what it hands back.
 * Knows no queue and no account: it runs the job that it is given.
 */
export { runNodesHere } from './local.ts'
export { FAILURE, type LogSelection, readLogs, taggedFailure, untagged } from './logs.ts'
export { ENDED, MPI_STEPS, type MpiStep, noteOf, runMpiStep } from './mpi-steps.ts'
export { nodeCommands, runNode } from './node.ts'
export * from './own-commands.ts'
export { exchanged, type NodeTask, runRemoteNode } from './remote.ts'
export { type Placement, type RendezvousOptions, rendezvous } from './rendezvous.ts'
