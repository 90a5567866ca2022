/** @file The backend of a plan. */
import type { Backend, BackendHooks } from './backend.ts'
import { openMpi } from './mpi/open-mpi.ts'
import type { GroupPlan } from './plan.ts'
import { openRing } from './ring/open-ring.ts'

export async function openBackend(plan: GroupPlan, hooks: BackendHooks): Promise<Backend> {
  if (plan.kind === 'ring') return openRing(plan, hooks)
  if (plan.kind === 'mpi') return openMpi(plan)
  throw new Error(`internal: no backend of kind ${plan.kind}`)
}
