/** @file The embedded ring: over shared memory where all ranks are on one host, over sockets otherwise. */
import type { Backend } from '../backend.ts'
import type { RingPlan } from '../plan.ts'
import { openSocketRing } from './socket-ring.ts'

export async function openRing(plan: RingPlan, notice: (message: string) => void): Promise<Backend> {
  return await openSocketRing(plan, notice)
}
