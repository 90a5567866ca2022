/** @file runner.dataset_debug: where the time of a pass went, in four words. */
import type { PassResult } from './loop.ts'
import type { Phase } from './messages.ts'

/** Parts of a step (see host-step.ts) under the words that people know. */
const PARTS = {
  read: ['load'],
  pull: ['lookup', 'gather'],
  compute: ['run'],
  push: ['merge', 'update', 'dense'],
} as const

/** `read 4 % (2 % waiting for the reader), pull 20 %, ...`: of the time of all trainer threads and of waiting. */
export function sharesText(
  phase: Phase,
  epoch: number,
  {
    breakdown,
    readerSeconds,
    samples,
    seconds,
  }: Pick<PassResult, 'breakdown' | 'readerSeconds' | 'samples' | 'seconds'>,
): string {
  const spent = Object.entries(PARTS).map(([name, parts]) => {
    const own = parts.reduce((sum, part) => sum + (breakdown[part] ?? 0), 0)
    return [name, name === 'read' ? own + readerSeconds : own] as const
  })
  const total = spent.reduce((sum, [, part]) => sum + part, 0)
  const percent = (part: number) => `${(total > 0 ? (100 * part) / total : 0).toFixed(1)} %`
  const shares = spent.map(([name, part]) => `${name} ${percent(part)}`).join(', ')
  const rate = seconds > 0 ? Math.round(samples / seconds) : 0
  return `dataset_debug, ${phase} of epoch ${epoch}: ${shares}; waiting for the reader ${percent(readerSeconds)}; ${rate} instances/s`
}
