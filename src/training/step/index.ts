/**
 * @file One step of one trainer thread: pull, run the graph, push; among ranks the exchange of gradients.
 * Knows nothing of threads, readers or servers: a batch and a Params come in.
 */

export { tableGroups } from './buffers.ts'
export { CutSequences } from './cut-sequences.ts'
export { openDeviceRows, rowsPlace } from './device-rows.ts'
export { DygraphStep, type WaitingBatch } from './dygraph-step.ts'
export { HostStep, type HostStepOptions, type PreparedStep, type Step } from './host-step.ts'
export { type HybridHandle, HybridParams } from './parallel/hybrid-params.ts'
export { openParallel, type ParallelHandle } from './parallel/parallel-params.ts'
export { rankSeed } from './parallel/ranks.ts'
export { pushedPart } from './pushed-part.ts'
export { type ShowClickSlots, showClickNotices, showClickTables } from './show-click.ts'
export { hostGraph, type StepGraph } from './step-graph.ts'
export { addHistograms, addSeconds, noSeconds, type StepResult, type StepSeconds } from './step-result.ts'
