/** @file Runs as tables of text. Pure. */
import type { RunSummary } from '../base/runs/index.ts'
import { printable } from '../base/util/index.ts'

/** Every word of the filter is somewhere in what the run is called, was given, or is. */
export function matches({ meta, state, tags }: RunSummary, filter = ''): boolean {
  const settings = Object.entries(meta.settings).map(([key, value]) => `${key}=${textOf(value)}`)
  const all = [meta.name, meta.model, state, ...tags, ...settings].join('\n').toLowerCase()
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word))
}

/** Of the evaluation where there is one. */
const measured = ({ lead }: RunSummary) => lead?.evaluation ?? lead?.metrics ?? {}
/** A loss is good when it is small. */
const isSmallBetter = (metric: string) => /loss|error|rmse|mae|^mse$/i.test(metric)

export function listText(
  runs: readonly RunSummary[],
  { metric, nowMs }: { readonly metric?: string | undefined; readonly nowMs: number },
): string {
  const names = [...new Set(runs.flatMap((run) => Object.keys(measured(run))))].slice(0, 4)
  const sorted = metric === undefined ? runs : byMetric(runs, metric)
  const head = ['name', 'state', 'age', 'epoch', ...names, 'samples/s', 'tags']
  const rows = sorted.map((run) => {
    const { lead } = run
    return [
      run.meta.name,
      run.state,
      ageText(nowMs - run.meta.createdAt),
      lead?.epoch === undefined ? '' : `${lead.epoch + 1}${lead.epochs === undefined ? '' : `/${lead.epochs}`}`,
      ...names.map((name) => numberText(measured(run)[name])),
      lead?.samplesPerSecond === undefined ? '' : Math.round(lead.samplesPerSecond).toLocaleString('en-US'),
      run.tags.join(' '),
    ]
  })
  return tableText([head, ...rows])
}

function byMetric(runs: readonly RunSummary[], metric: string): RunSummary[] {
  const sign = isSmallBetter(metric) ? 1 : -1
  const value = (run: RunSummary) => {
    const own = measured(run)[metric]
    return own === undefined || !Number.isFinite(own) ? Number.POSITIVE_INFINITY : sign * own
  }
  return [...runs].sort((a, b) => value(a) - value(b))
}

/** What is alike in all of them is left out. */
export function compareText(runs: readonly RunSummary[]): string {
  const keys = [...new Set(runs.flatMap(({ meta }) => Object.keys(meta.settings)))].sort()
  const row = (key: string) => [key, ...runs.map(({ meta }) => textOf(meta.settings[key]))]
  const differing = keys.map(row).filter(([, first, ...rest]) => rest.some((value) => value !== first))
  const metrics = [...new Set(runs.flatMap((run) => Object.keys(measured(run))))]
  return tableText([
    ['', ...runs.map(({ meta }) => meta.name)],
    ['state', ...runs.map(({ state }) => state)],
    ['commit', ...runs.map(({ meta }) => meta.commit?.slice(0, 10) ?? '')],
    ...differing,
    ...metrics.map((name) => [name, ...runs.map((run) => numberText(measured(run)[name]))]),
  ])
}

const textOf = (value: unknown) =>
  value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
const numberText = (value: number | undefined) => (typeof value === 'number' ? value.toFixed(6) : '')

function ageText(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
  ] as const
  const [size, unit] = units.find(([each]) => ms >= each) ?? [1000, 's']
  return `${Math.max(0, Math.floor(ms / size))} ${unit}`
}

/** A run folder may come from anywhere: what it says is shown on one line, and moves no cursor. */
const cellText = (text: string) => printable(text.replace(/\s/g, ' '))

function tableText(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(cellText))
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}
