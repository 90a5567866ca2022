/** @file The public face of collective/: processes that compute as one group. */
export { agree, type Facts } from './agree.ts'
export { groupPlan, workersRing } from './choose.ts'
export * from './group.ts'
export { openGroup, openSeat } from './open-group.ts'
export type { GroupPlan, MpiPlan, RingPlan } from './plan.ts'
