/** @file Charts of several metrics with what they share: axis, smoothing, training or test data, the part that is zoomed into. */
import type { Mark, Series } from '../src/jobs/dashboard/api.ts'
import { type Chart, chart } from './chart.ts'
import { askCharts } from './client.ts'
import { h, put } from './dom.ts'
import { route, setParams } from './route.ts'
import { t, type Word } from './words.ts'

export interface GridOptions {
  readonly runs: readonly string[]
  readonly metrics: readonly string[]
  readonly marks: readonly Mark[]
  /** About how many lines a chart will have: the more, the fewer points of each are asked for. */
  readonly lines: number
  readonly nameOf: (series: Series) => string
}

export interface Grid {
  readonly element: HTMLElement
  /** Asks again: the run has changed. */
  refresh(): void
  destroy(): void
}

const LABELS: Readonly<Record<string, Word>> = {
  samplesPerSecond: 'rate',
  learning_rate: 'learningRate',
  'norm.weights': 'normWeights',
  'norm.gradients': 'normGradients',
  'norm.rows': 'normRows',
  'norm.rowGradients': 'normRowGradients',
  staleness: 'staleness',
  'link.sent': 'sentBytes',
  'link.received': 'receivedBytes',
  memory: 'memoryBytes',
}
const LEVELS: Readonly<Record<string, Word>> = {
  memory_rows: 'tableRows',
  memory_bytes: 'tableBytes',
  disk_rows: 'tableDiskRows',
  disk_bytes: 'tableDiskBytes',
}

function titleOf(metric: string): string {
  const [, table, level] = /^table\.(.+)\.(\w+)$/.exec(metric) ?? []
  if (table !== undefined && LEVELS[level!]) return t(LEVELS[level!]!, { table })
  return LABELS[metric] ? t(LABELS[metric]) : metric
}

export function grid(options: GridOptions): Grid {
  const { runs, metrics, marks, nameOf } = options
  const body = h('div', { class: 'grid' })
  let charts: Readonly<Record<string, Chart>> = {}
  let range: readonly [number, number] | undefined = rangeOf(route().params.get('range'))
  let [asked, isGone, lines] = [0, false, options.lines]

  const load = async () => {
    const own = ++asked
    const { params } = route()
    const axis = params.get('x') ?? 'step'
    const points = Math.round(Math.max(150, Math.min(1200, 6000 / Math.max(1, lines))))
    const query = {
      x: axis,
      phase: params.get('phase') ?? 'train',
      smooth: params.get('smooth') ?? '0',
      points,
      from: range?.[0],
      to: range?.[1],
    }
    const found = await askCharts(runs, metrics, query)
    if (own !== asked || isGone) return
    lines = Math.max(1, ...Object.values(found).map(({ length }) => length))
    body.dataset['ready'] = 'true'
    for (const metric of metrics) {
      const series = found[metric] ?? []
      charts[metric]!.element.hidden = series.length === 0
      if (series.length > 0) charts[metric]!.show(series, range)
    }
    empty.hidden = Object.values(found).some(({ length }) => length > 0)
  }
  const empty = h('p', { class: 'muted', hidden: true }, t('noCurves'))
  const onRange = (wanted: readonly [number, number] | undefined) => {
    range = wanted
    setParams({ range: wanted ? wanted.map((one) => Number(one.toPrecision(12))).join('_') : '' })
    void load()
  }
  const build = () => {
    for (const one of Object.values(charts)) one.destroy()
    const { params } = route()
    const axis = (params.get('x') ?? 'step') as 'step'
    const isLog = params.get('log') === '1'
    charts = Object.fromEntries(
      metrics.map((metric) => [metric, chart({ title: titleOf(metric), axis, isLog, nameOf, marks, onRange })]),
    )
    put(body, ...Object.values(charts).map(({ element }) => element), empty)
    void load()
  }
  const change = (changes: Readonly<Record<string, string>>) => {
    // A range of steps is none of seconds.
    if ('x' in changes) range = undefined
    setParams('x' in changes ? { ...changes, range: '' } : changes)
    build()
  }
  build()
  const element = h(
    'div',
    {},
    controls(change, () => onRange(undefined)),
    body,
  )
  const destroy = () => {
    isGone = true
    for (const one of Object.values(charts)) one.destroy()
  }
  return { element, refresh: () => void load(), destroy }
}

const rangeOf = (text: string | null): readonly [number, number] | undefined => {
  const [from = Number.NaN, to = Number.NaN] = (text ?? '').split('_').map(Number)
  return text && from < to ? [from, to] : undefined
}

function controls(change: (changes: Readonly<Record<string, string>>) => void, reset: () => void): HTMLElement {
  const { params } = route()
  const choice = (name: string, label: Word, values: Readonly<Record<string, Word>>, fallback: string) =>
    h(
      'label',
      { class: 'field' },
      t(label),
      h(
        'select',
        { name, onchange: (event: Event) => change({ [name]: (event.target as HTMLSelectElement).value }) },
        ...Object.entries(values).map(([value, word]) =>
          h('option', { value, selected: value === (params.get(name) ?? fallback) }, t(word)),
        ),
      ),
    )
  const smooth = h('input', {
    type: 'range',
    min: 0,
    max: 1,
    step: 0.05,
    value: params.get('smooth') ?? '0',
    name: 'smooth',
    onchange: (event: Event) => change({ smooth: (event.target as HTMLInputElement).value }),
  })
  const log = h('input', {
    type: 'checkbox',
    checked: params.get('log') === '1',
    name: 'log',
    onchange: (event: Event) => change({ log: (event.target as HTMLInputElement).checked ? '1' : '' }),
  })
  return h(
    'div',
    { class: 'toolbar' },
    choice('x', 'axis', { step: 'step', samples: 'samples', time: 'clock' }, 'step'),
    choice('phase', 'phase', { train: 'train', test: 'testing' }, 'train'),
    h('label', { class: 'field' }, t('smooth'), smooth),
    h('label', { class: 'field' }, log, t('log')),
    h('button', { type: 'button', class: 'button', onclick: reset }, t('reset')),
  )
}
