/** @file What `oarfish parity` prints. */
import type { Match } from './match.ts'
import type { ParityResult } from './parity.ts'

const shape = (sizes: readonly number[]) => `[${sizes.join(', ')}]`

export function parityReport(result: ParityResult, tolerance: number): string {
  const { matches, extra, batches, differences, agrees } = result
  const rows = matches.map(rowOf)
  const width = Math.max(...rows.map(([name]) => name.length), 0)
  const lines = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
  const more = extra.map(
    (weight) => `  ${weight.name.padEnd(width)}  extra: the model has no such weight ${shape(weight.shape)}`,
  )
  const found = differences.map(
    ({ what, batch, ours, paddles, distance }) =>
      `largest difference of a ${what}: ${distance.toExponential(2)} (batch ${batch}: ${ours} here, ${paddles} in Paddle)${distance <= tolerance ? '' : `, above ${tolerance}`}`,
  )
  const compared =
    batches > 0
      ? `${batches} batches compared`
      : 'only weights were compared: --reference FILE or --paddlerec FOLDER compares what is computed'
  return [
    ...lines,
    ...more,
    compared,
    ...found,
    ...wordsOnTraining(result),
    agrees ? 'The model agrees with Paddle.' : 'The model does not agree with Paddle.',
    '',
  ].join('\n')
}

/** What a person should know before a difference counts as an error of the port. */
function wordsOnTraining({ training, rowsAhead, firstStep, differences, agrees }: ParityResult): readonly string[] {
  if (!training) return []
  const rows = rowsAhead
    ? [
        'Tables were trained as Paddle trains them: its Adam corrects a sparse gradient with the powers of the next step. `oarfish train` corrects all weights alike, so its first steps move rows further (the first by a third).',
      ]
    : []
  if (agrees || differences.some(({ batch }) => batch === 0)) return rows
  const { moved = 0, byRounding = 0 } = firstStep ?? {}
  const rounding =
    byRounding > 0
      ? `Of ${moved} dense weights that the first step moved, ${byRounding} have gradients below a millionth of the largest: sums that cancel, of which only rounding is left. Adam moves such a weight by a whole learning rate too, in a direction that differs from machine to machine, so no port can follow Paddle from here.`
      : 'The first batch agrees; the losses part when weights learn.'
  return [...rows, `${rounding} Compare without --training, or from weights that have been trained for a while.`]
}

function rowOf(match: Match): readonly [string, string] {
  const { wanted } = match
  const own = wanted.kind === 'table' ? `table of ${wanted.dim}` : shape(wanted.shape)
  if (match.kind === 'matched') {
    const rows = wanted.kind === 'table' ? `, ${match.weight.shape[0]} rows` : ''
    return [
      wanted.name,
      `matched ${own}${rows}: ${match.weight.name}${match.how === 'order' ? ', by order and shape' : ''}`,
    ]
  }
  if (match.kind === 'shape')
    return [wanted.name, `shape differs: ${own} here, ${shape(match.weight.shape)} in Paddle (${match.weight.name})`]
  return [wanted.name, `missing: the file has no weight for ${own}`]
}
