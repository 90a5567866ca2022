/** @file One chart: lines over an axis, zoomed by dragging or by keys, with the number of points it shows. */
import uPlot from 'uplot'
import type { Axis, Mark, Series } from '../src/jobs/dashboard/api.ts'
import { tip } from './chart-tip.ts'
import { h } from './dom.ts'
import { saveChart, saveCsv } from './save-file.ts'
import { saveButton } from './save-tools.ts'
import { number, timeText } from './text.ts'
import { t } from './words.ts'

export const COLORS = [
  '#2f6fde',
  '#d9480f',
  '#0b8a5c',
  '#9c36b5',
  '#b8860b',
  '#0c8599',
  '#c2255c',
  '#5f6b7a',
  '#5c940d',
  '#6741d9',
]
/** More of them than this are not listed one by one. */
const MOST_LISTED = 10

export interface ChartOptions {
  readonly title: string
  readonly axis: Axis
  readonly isLog: boolean
  readonly nameOf: (series: Series) => string
  readonly marks: readonly Mark[]
  /** The part of the axis that is wanted now; undefined: all of it. */
  readonly onRange: (range: readonly [number, number] | undefined) => void
}

export interface Chart {
  readonly element: HTMLElement
  show(series: readonly Series[], range: readonly [number, number] | undefined): void
  destroy(): void
}

const HEIGHT = 220
const SETTLE_MS = 150

export function chart(options: ChartOptions): Chart {
  const { title, axis, marks, onRange } = options
  const canvas = h('div', { class: 'plot', tabindex: 0, role: 'img', 'aria-label': title })
  const count = h('span', { class: 'muted' })
  const legend = h('div', { class: 'legend' })
  let shown: readonly Series[] = []
  let plot: uPlot | undefined
  let full: readonly [number, number] = [0, 1]
  const csv = () => saveCsv(title, csvRows(shown, options))
  const png = () => plot && saveChart(title, plot, keysOf(shown, options))
  const tools = h(
    'span',
    { class: 'tools' },
    count,
    saveButton(t('csv'), t('saveCsv', { name: title }), csv),
    saveButton(t('png'), t('savePng', { name: title }), () => void png()),
  )
  const element = h(
    'section',
    { class: 'card chart', 'aria-label': title },
    h('header', {}, h('h3', {}, title), tools),
    canvas,
    legend,
  )

  let timer: ReturnType<typeof setTimeout> | undefined
  /** What is there moves at once, the detail of the new range is asked for when it stays. */
  const move = (from: number, to: number) => {
    plot?.setScale('x', { min: from, max: to })
    clearTimeout(timer)
    timer = setTimeout(() => onRange(isAll(from, to, full) ? undefined : [from, to]), SETTLE_MS)
  }
  const byKey = (key: string, { min = 0, max = 1 }: { min?: number | undefined; max?: number | undefined }) => {
    const width = max - min
    if (key === 'ArrowLeft') return move(min - width / 10, max - width / 10)
    if (key === 'ArrowRight') return move(min + width / 10, max + width / 10)
    if (key === '+' || key === '=') return move(min + width / 4, max - width / 4)
    if (key === '-') return move(Math.max(full[0], min - width / 2), Math.min(full[1], max + width / 2))
    if (key === '0') return move(...full)
    return false
  }
  canvas.addEventListener('keydown', (event) => {
    if (plot && byKey(event.key, plot.scales['x']!) !== false) event.preventDefault()
  })
  canvas.addEventListener(
    'wheel',
    (event) => {
      const { min, max } = plot?.scales['x'] ?? {}
      if (
        min === undefined ||
        max === undefined ||
        !(event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      )
        return
      event.preventDefault()
      const by = ((event.deltaX || event.deltaY) / 500) * (max - min)
      move(min + by, max + by)
    },
    { passive: false },
  )
  const observer = new ResizeObserver(() => plot?.setSize({ width: canvas.clientWidth, height: HEIGHT }))
  observer.observe(canvas)

  const show: Chart['show'] = (series, range) => {
    shown = series
    count.textContent = countText(series)
    full = range ? full : fullRange(series, axis === 'time' ? marks : [])
    const data = joined(series)
    if (plot && plot.series.length === series.length + 1) {
      plot.setData(data, false)
      plot.setScale('x', { min: range?.[0] ?? full[0], max: range?.[1] ?? full[1] })
    } else {
      plot?.destroy()
      plot = new uPlot(
        plotOptions(options, series, canvas.clientWidth || 600, range ?? full, move, () => move(...full)),
        data,
        canvas,
      )
    }
    const listed = series.length > 1 && series.length <= MOST_LISTED
    legend.replaceChildren(...(listed ? series.map((one, i) => legendItem(options.nameOf(one), colorOf(i))) : []))
    const last = series[0]?.y.at(-1)
    canvas.setAttribute(
      'aria-label',
      `${title}: ${countText(series)}${typeof last === 'number' ? `, ${number(last)}` : ''}`,
    )
  }
  const destroy = () => {
    clearTimeout(timer)
    observer.disconnect()
    plot?.destroy()
  }
  return { element, show, destroy }
}

export const colorOf = (i: number) => COLORS[i % COLORS.length]!

function legendItem(name: string, color: string): HTMLElement {
  return h('span', { class: 'key' }, h('i', { style: { background: color } }), name)
}

const isAll = (from: number, to: number, [first, last]: readonly [number, number]) => from <= first && to >= last

/** The last checkpoint comes after the last point. */
function fullRange(series: readonly Series[], marks: readonly Mark[]): readonly [number, number] {
  const times = marks.map(({ at }) => at / 1000)
  const firsts = [...series.flatMap(({ x }) => x[0] ?? []), ...times]
  const lasts = [...series.flatMap(({ x }) => x.at(-1) ?? []), ...times]
  const [from, to] = [Math.min(...firsts), Math.max(...lasts)]
  return from < to ? [from, to] : [from - 1, to + 1]
}

function countText(series: readonly Series[]): string {
  const shown = series.reduce((sum, { x }) => sum + x.length, 0)
  const total = series.reduce((sum, own) => sum + own.total, 0)
  return shown < total
    ? t('points', { shown: number(shown), total: number(total) })
    : t('allPoints', { total: number(total) })
}

/** One axis for all lines. */
function joined(series: readonly Series[]): uPlot.AlignedData {
  const tables = series.map(({ x, y }): uPlot.AlignedData => [[...x], [...y]])
  return tables.length < 2 ? (tables[0] ?? [[]]) : uPlot.join(tables)
}

function plotOptions(
  { axis, isLog, marks, nameOf }: ChartOptions,
  series: readonly Series[],
  width: number,
  range: readonly [number, number],
  move: (from: number, to: number) => void,
  reset: () => void,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const [text, line] = [style.getPropertyValue('--muted'), style.getPropertyValue('--line')]
  const look = {
    stroke: text,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
    font: '11px system-ui, sans-serif',
  }
  const isMany = series.length > MOST_LISTED
  return {
    width,
    height: HEIGHT,
    padding: [12, 16, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: 'oarfish', setSeries: false },
      drag: { x: true, y: false, setScale: false },
      points: { show: !isMany },
    },
    scales: { x: { time: axis === 'time', min: range[0], max: range[1] }, y: isLog ? { distr: 3 } : {} },
    axes: [
      { ...look, size: axis === 'time' ? 44 : 30, values: axis === 'time' ? times : numbers },
      { ...look, size: 58, values: numbers },
    ],
    series: [
      {},
      ...series.map((own, i) => ({
        label: nameOf(own),
        stroke: colorOf(i),
        width: isMany ? 1 : 1.75,
        alpha: isMany ? 0.6 : 1,
        spanGaps: true,
        points: { show: own.x.length < 30, fill: style.getPropertyValue('--card') },
      })),
    ],
    hooks: {
      setSelect: [
        (plot) => {
          if (plot.select.width < 4) return
          move(plot.posToVal(plot.select.left, 'x'), plot.posToVal(plot.select.left + plot.select.width, 'x'))
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
      draw: axis === 'time' ? [(plot) => drawMarks(plot, marks)] : [],
      ready: [(plot) => plot.over.addEventListener('dblclick', reset)],
      setCursor: [(plot) => tip(plot, named(series, nameOf), axis === 'time' ? marks : [])],
    },
  }
}

const numbers = (_: uPlot, splits: readonly (number | null)[]) => splits.map((value) => number(value))

/** `step` is the seconds from one to the next. */
const times = (_: uPlot, splits: readonly number[], __: number, ___: number, step: number) =>
  splits.map((seconds) => timeText(seconds, step))

const MARK_COLORS: Readonly<Record<Mark['kind'], string>> = {
  start: '#868e96',
  saved: '#0b8a5c',
  loaded: '#2f6fde',
  restart: '#e8590c',
  warning: '#e8a500',
  failed: '#e03131',
  end: '#868e96',
}

/** Starts, cuts and ends as dashed lines. */
function drawMarks(plot: uPlot, marks: readonly Mark[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.setLineDash([4, 4])
  for (const { at, kind } of marks) {
    const x = Math.round(plot.valToPos(at / 1000, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.strokeStyle = MARK_COLORS[kind]
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

function csvRows(series: readonly Series[], { axis, title, nameOf }: ChartOptions) {
  const rows = series.flatMap((one) => one.x.map((x, i) => [nameOf(one), x, one.y[i]]))
  return [['line', axis, title], ...rows]
}

const named = (series: readonly Series[], nameOf: ChartOptions['nameOf']) =>
  series.map((one, i) => ({ name: nameOf(one), color: colorOf(i) }))

/** One line needs no name. */
const keysOf = (series: readonly Series[], { nameOf }: ChartOptions) =>
  series.length > 1 && series.length <= MOST_LISTED ? named(series, nameOf) : []
