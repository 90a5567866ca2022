/** @file The backend of a plan. */
import type { Backend, BackendHooks } from './backend.ts'
import type { GroupPlan } from './plan.ts'

export async function openBackend(plan: GroupPlan, hooks: BackendHooks): Promise<Backend> {
  if (plan.kind === 'ring') return (await import('./ring/open-ring.ts')).openRing(plan, hooks)
  if (plan.kind === 'mpi') return (await import('./mpi/open-mpi.ts')).openMpi(plan)
  throw new Error(`internal: no backend of kind ${plan.kind}`)
}
