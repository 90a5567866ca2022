/** @file Which devices a process is to use, by Paddle's flag. */
import { UserError } from '../util/index.ts'
import type { Env } from './cluster-env.ts'
import { splitList } from './endpoint.ts'

/** The indices of FLAGS_selected_gpus; none where it is not set. */
export function selectedGpus(env: Env): readonly number[] {
  const listed = splitList(env['FLAGS_selected_gpus'] ?? '')
  const wrong = listed.find((text, i) => !/^\d+$/.test(text) || listed.indexOf(text) !== i)
  if (wrong !== undefined)
    throw new UserError(`FLAGS_selected_gpus: expected numbers of devices, each once, got "${wrong}" in "${listed}".`, {
      code: 'CLUSTER_ENV',
      hint: 'Write for example FLAGS_selected_gpus="0,1"',
    })
  return listed.map(Number)
}
