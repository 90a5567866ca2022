/** @file The parameter server's figures as Markdown. */
import { markdown } from './markdown.ts'
import { type Json, thousands } from './tools.ts'

export function psTables(lines: readonly Json[]): string {
  const part = (name: string) => lines.filter((line) => String(line['name']).includes(name))
  const tables = [
    speedTable(part('worker').filter((line) => 'samplesPerSecond' in line)),
    accuracyTable(part('accuracy')[0]),
    requestTable(part('requests')),
    sentences(part('start and end')[0], part('rows of')[0], part('growth')[0]),
  ]
  return tables.filter((table) => table !== undefined).join('\n\n')
}

function speedTable(lines: readonly Json[]): string | undefined {
  if (lines.length === 0) return undefined
  const spread = (rates: unknown) => {
    const all = rates as number[]
    return `${thousands(Math.min(...all))} to ${thousands(Math.max(...all))}`
  }
  const rows = lines.map((line) => [
    `${line['name']}, ${line['mode']}`,
    thousands(Number(line['samplesPerSecond'])),
    spread(line['rounds']),
    ...(line['paddle'] === undefined
      ? ['', '', '']
      : [
          thousands(Number(line['paddle'])),
          spread(line['paddleRounds']),
          `${(Number(line['ratio']) as number).toFixed(2)}x`,
        ]),
  ])
  return markdown(
    ['parameter servers, CTR DNN', 'samples/s (median)', 'spread', 'Paddle 2.6.2', 'spread', 'oarfish is'],
    rows,
  )
}

function accuracyTable(line: Json | undefined): string | undefined {
  if (!line) return undefined
  const rows = Object.entries(line).flatMap(([mode, found]) => {
    if (typeof found !== 'object' || found === null) return []
    const { mean, spread, belowSingle } = found as { mean: number; spread: number; belowSingle?: number }
    const name = mode === 'single' ? 'one process, 1 thread' : `${mode}, 2 workers, 2 servers`
    return [[name, mean.toFixed(4), spread.toFixed(4), belowSingle === undefined ? '' : (-belowSingle).toFixed(4)]]
  })
  return markdown(['test AUC after the same samples, 3 seeds', 'mean', 'spread', 'against one process'], rows)
}

function requestTable(lines: readonly Json[]): string | undefined {
  if (lines.length === 0) return undefined
  const rows = lines.map((line) => [
    String(line['name']).replace('requests over ', ''),
    ...[line['p50Ms'], line['p99Ms']].map((ms) => Number(ms).toFixed(2)),
    thousands(Number(line['megabytesPerSecond'])),
  ])
  return markdown(['pull + push of 13,312 signs x 9 floats', 'p50 ms', 'p99 ms', 'MB/s'], rows)
}

function sentences(job: Json | undefined, thread: Json | undefined, growth: Json | undefined): string | undefined {
  const said = [
    job &&
      `- \`fleetrun\` makes its first step after ${seconds(job['firstStepSeconds'])} and ends ${seconds(job['exitAfterLastStepSeconds'])} after its last.`,
    thread &&
      `- A shard thread pulls ${millions(thread['pullRowsPerSecond'])} and pushes ${millions(thread['pushRowsPerSecond'])} rows a second, of both in turn ${millions(thread['servedRowsPerSecond'])}.`,
    growth &&
      `- Growing to ${thousands(Number(growth['rows']))} rows, no pull of 13,312 new rows took longer than ${millis(growth['longestGrowingMs'])}; while they were read out for saving, none took longer than ${millis(growth['longestSavingMs'])}.`,
  ].filter((sentence) => sentence !== undefined)
  return said.length > 0 ? said.join('\n') : undefined
}

const seconds = (value: unknown) => `${Number(value).toFixed(1)} s`
const millis = (value: unknown) => `${Number(value).toFixed(0)} ms`
const millions = (value: unknown) => `${(Number(value) / 1e6).toFixed(1)} million`
