/** @file The table at the end of `npm run chaos`: by fault and by mode, how runs ended and how long recovery took. */
import type { RunResult } from './run.ts'

interface Row {
  readonly name: string
  readonly results: readonly RunResult[]
}

const HEAD = ['', 'runs', 'struck', 'good', 'failed', 'restarts', 'by hand', 'p50', 'p99']

/** Markdown. */
export function chaosTable(results: readonly RunResult[]): string {
  const by = (key: 'fault' | 'mode') =>
    [...new Set(results.map((result) => result[key]))]
      .sort()
      .map((name): Row => ({ name, results: results.filter((result) => result[key] === name) }))
  const rows = [...by('fault'), ...by('mode'), { name: 'all', results }].map(cells)
  const rule = HEAD.map((_, i) => (i === 0 ? '---' : '--:'))
  return [HEAD, rule, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function cells({ name, results }: Row): readonly string[] {
  const sum = (of: (result: RunResult) => number) => String(results.reduce((total, result) => total + of(result), 0))
  const failed = results.filter(({ problems }) => problems.length > 0).length
  const recoveries = results.flatMap(({ recoveryMs }) => recoveryMs).sort((a, b) => a - b)
  return [
    name,
    String(results.length),
    sum(({ struck }) => struck),
    String(results.length - failed),
    String(failed),
    sum(({ restarts }) => restarts),
    sum(({ resumes }) => resumes),
    secondsAt(recoveries, 0.5),
    secondsAt(recoveries, 0.99),
  ]
}

/** Of sorted times, the smallest that so large a share does not exceed. */
function secondsAt(sortedMs: readonly number[], share: number): string {
  const at = sortedMs[Math.ceil(share * sortedMs.length) - 1]
  return at === undefined ? '-' : `${(at / 1000).toFixed(1)} s`
}
