/** @file What `oarfish parity` prints. */
import type { Match } from './match.ts'
import type { ParityResult } from './parity.ts'

const shape = (sizes: readonly number[]) => `[${sizes.join(', ')}]`

export function parityReport(
  { matches, extra, batches, differences, agrees }: ParityResult,
  tolerance: number,
): string {
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
    agrees ? 'The model agrees with Paddle.' : 'The model does not agree with Paddle.',
    '',
  ].join('\n')
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
