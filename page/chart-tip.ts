/** @file What lies under the pointer of a chart, in words: the value of each line, and a mark that is near. */
import type uPlot from 'uplot'
import type { Mark } from '../src/jobs/dashboard/api.ts'
import { h } from './dom.ts'
import { number, timeText } from './text.ts'

export interface TipLine {
  readonly name: string
  readonly color: string
}

const MOST_LINES = 12
const NEAR = 6 // pixels

export function tip(plot: uPlot, lines: readonly TipLine[], marks: readonly Mark[]): void {
  let box = plot.over.querySelector<HTMLElement>('.tip')
  if (!box) {
    box = h('div', { class: 'tip' })
    plot.over.append(box)
  }
  const { idx, left = -1, top = -1 } = plot.cursor
  if (idx === null || idx === undefined || left < 0) {
    box.hidden = true
    return
  }
  const rows = lines.flatMap(({ name, color }, i) => {
    const value = nearest(plot.data[i + 1] as (number | null | undefined)[], idx)
    return value === undefined ? [] : [{ name, value, color }]
  })
  const near = marks.filter(({ at }) => Math.abs(plot.valToPos(at / 1000, 'x') - left) <= NEAR)
  const at = plot.data[0]![idx]!
  box.hidden = false
  box.replaceChildren(
    h('b', {}, plot.scales['x']!.time ? timeText(at, 1) : number(at)),
    ...near.slice(0, MOST_LINES).map(({ text }) => h('span', { class: 'mark' }, text)),
    ...rows
      .slice(0, MOST_LINES)
      .map(({ name, value, color }) =>
        h('span', {}, h('i', { style: { background: color } }), lines.length > 1 ? `${name} ` : '', number(value)),
      ),
  )
  box.style.left = `${left > plot.over.clientWidth / 2 ? left - box.offsetWidth - 12 : left + 12}px`
  box.style.top = `${Math.max(0, Math.min(top, plot.over.clientHeight - box.offsetHeight))}px`
}

/** Lines are joined on one axis, where most have no value of their own at most places. */
function nearest(values: readonly (number | null | undefined)[], at: number): number | undefined {
  for (let d = 0; d < 200; d++) {
    const found = values[at - d] ?? values[at + d]
    if (typeof found === 'number') return found
  }
  return undefined
}
