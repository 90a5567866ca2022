/**
 * @file A group of processes that compute as one: its operations, the communication thread, MPI and the embedded ring.
 * Knows nothing of models, weights or steps: it carries numbers.
 */
export * from './group.ts'
export { attachGroup, openGroup } from './open-group.ts'
export { type GroupPlan, groupPlan, type MpiPlan, type RingPlan, workersRing } from './plan.ts'
