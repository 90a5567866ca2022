/** @file The public face of agent/: the nodes of a submitted job. */
export { type LocalOptions, runNodesHere } from './local.ts'
export { FAILURE, type LogSelection, readLogs, taggedFailure, untagged } from './logs.ts'
export { type MpiNodeOptions, runMpiNode } from './mpi.ts'
export { MPI_STEPS, type MpiStep, runMpiStep } from './mpi-steps.ts'
export { type NodeOptions, runNode } from './node.ts'
export { exchanged, type NodeTask, type RemoteNodeOptions, runRemoteNode } from './remote.ts'
export { type MeetOptions, meetSeats, type Seat, type Seats } from './seats.ts'
