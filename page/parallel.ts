/** @file Parallel coordinates: a line a run through its parameters, coloured by what came of it. */
import type { RunRow } from '../src/jobs/dashboard/api.ts'
import { h, put, svg } from './dom.ts'
import { route, setParams } from './route.ts'
import { saveTools } from './save-tools.ts'
import { isSmallBetter, metric, number, setting, shortKey } from './text.ts'
import { t } from './words.ts'

interface Scale {
  readonly label: string
  readonly at: (run: RunRow) => number | undefined
  readonly ticks: readonly { readonly at: number; readonly text: string }[]
}

const [TOP, HEIGHT, LEAST_GAP] = [40, 300, 150]
const MOST_AXES = 8

export function parallel(runs: readonly RunRow[]): HTMLElement {
  const metrics = [
    ...new Set(
      runs.flatMap(({ test, metrics: own }) => [
        ...Object.keys(test).map((name) => `test.${name}`),
        ...Object.keys(own).map((name) => `metrics.${name}`),
      ]),
    ),
  ]
  const keys = [...new Set(runs.flatMap(({ settings }) => Object.keys(settings)))]
    .filter((key) => new Set(runs.map(({ settings }) => setting(settings[key]))).size > 1)
    .slice(0, MOST_AXES)
  const box = h('div', { class: 'card scroll' })
  const select = h('select', { 'aria-label': t('curves') })
  const draw = () => {
    setParams({ metric: select.value })
    show(select.value)
  }
  const show = (name: string) => {
    const drawn = picture(runs, keys, name)
    const title = `${t('parallel')}, ${name.replace('metrics.', '')}`
    put(box, h('header', {}, h('h3', {}, title), saveTools(title, { picture: drawn })), drawn)
  }
  const wanted = route().params.get('metric') ?? metrics.find((name) => name === 'test.auc') ?? metrics[0] ?? ''
  put(
    select,
    ...metrics.map((name) => h('option', { value: name, selected: name === wanted }, name.replace('metrics.', ''))),
  )
  if (metrics.length === 0 || keys.length === 0) return h('p', { class: 'muted' }, t('noCurves'))
  select.addEventListener('change', draw)
  show(wanted)
  return h('div', {}, h('div', { class: 'toolbar' }, select), box)
}

function picture(runs: readonly RunRow[], keys: readonly string[], wanted: string): SVGElement {
  const [group, name] = [wanted.slice(0, wanted.indexOf('.')), wanted.slice(wanted.indexOf('.') + 1)]
  const readValue = (run: RunRow) => (group === 'test' ? run.test : run.metrics)[name]
  const scales = [
    ...keys.map((key) => scaleOf(shortKey(key), runs, (run) => run.settings[key])),
    scaleOf(name, runs, readValue),
  ]
  const gap = Math.max(LEAST_GAP, (Math.min(1400, innerWidth - 80) - 180) / (scales.length - 1))
  const width = 150 + gap * (scales.length - 1)
  const x = (i: number) => 90 + gap * i
  const y = (at: number) => TOP + HEIGHT * (1 - at)
  const last = scales.at(-1)!
  const lines = runs.flatMap((run) => {
    const places = scales.map((scale, i) => [x(i), scale.at(run)] as const).filter(([, at]) => at !== undefined)
    const result = last.at(run)
    if (result === undefined || places.length < 2) return []
    const good = isSmallBetter(name) ? 1 - result : result
    const points = places.map(([px, at]) => `${px},${y(at!)}`).join(' ')
    const title = `${run.name}: ${keys.map((key) => `${shortKey(key)} ${setting(run.settings[key])}`).join(', ')}, ${name} ${metric(readValue(run))}`
    const line = svg(
      'polyline',
      {
        points,
        fill: 'none',
        stroke: `hsl(${215 - 195 * (1 - good)} 75% 50%)`,
        'stroke-width': 1.5,
        'stroke-opacity': 0.35 + 0.6 * good,
      },
      svg('title', {}, title),
    )
    return [{ good, line }]
  })
  const axes = scales.flatMap(({ label, ticks }, i) => [
    svg('line', { x1: x(i), x2: x(i), y1: TOP, y2: TOP + HEIGHT, class: 'axis' }),
    svg('text', { x: x(i), y: TOP - 16, 'text-anchor': 'middle', class: 'axis-name' }, label),
    ...ticks.map(({ at, text }) =>
      svg('text', { x: x(i) - 6, y: y(at) + 4, 'text-anchor': 'end', class: 'tick' }, text),
    ),
  ])
  return svg(
    'svg',
    {
      width,
      height: TOP + HEIGHT + 24,
      role: 'img',
      'aria-label': `${t('parallel')}: ${scales.map(({ label }) => label).join(', ')}`,
    },
    ...lines.sort((a, b) => a.good - b.good).map(({ line }) => line),
    ...axes,
  )
}

/** Numbers by size, by their logarithm where they span a lot; words in their order. */
function scaleOf(label: string, runs: readonly RunRow[], readValue: (run: RunRow) => unknown): Scale {
  const values = runs.map(readValue).filter((value) => value !== undefined)
  if (values.every((value) => typeof value === 'number' && Number.isFinite(value))) {
    const numbers = values as number[]
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)]
    const isLog = low > 0 && high / low >= 50
    const place = (value: number) =>
      high === low ? 0.5 : isLog ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low)
    const middle = isLog ? Math.sqrt(low * high) : (low + high) / 2
    const ticks = (high === low ? [low] : [low, middle, high]).map((value) => ({
      at: place(value),
      text: number(value),
    }))
    return {
      label,
      ticks,
      at: (run) =>
        typeof readValue(run) === 'number' && Number.isFinite(readValue(run))
          ? place(readValue(run) as number)
          : undefined,
    }
  }
  const words = [...new Set(values.map(setting))].sort()
  const at = (value: unknown) => (words.length === 1 ? 0.5 : words.indexOf(setting(value)) / (words.length - 1))
  return {
    label,
    ticks: words.slice(0, 12).map((word) => ({ at: at(word), text: word.slice(0, 14) })),
    at: (run) => (readValue(run) === undefined ? undefined : at(readValue(run))),
  }
}
