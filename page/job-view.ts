/** @file The processes of a run: where the time of each goes, who works with whom, and how each is. */
import type { ProcessRow, RunDetail } from '../src/jobs/dashboard/api.ts'
import { h, svg } from './dom.ts'
import { badge } from './runs-table.ts'
import { bytes, duration, number } from './text.ts'
import { t, type Word } from './words.ts'

const PARTS: Readonly<Record<string, string>> = {
  read: '#868e96',
  lookup: '#2f6fde',
  pull: '#0c8599',
  compute: '#0b8a5c',
  push: '#b8860b',
  wait: '#d9480f',
}

/** Stacked, one bar a process, all on one scale. */
export function timeView({ processes }: RunDetail): HTMLElement {
  const own = processes.filter(({ parts }) => sum(parts) > 0)
  if (own.length === 0) return h('p', { class: 'muted' }, t('noCurves'))
  const most = Math.max(...own.map(({ parts }) => sum(parts)))
  const bar = ({ parts }: ProcessRow) =>
    h(
      'div',
      { class: 'bar' },
      ...Object.entries(PARTS).map(([part, color]) => {
        const seconds = parts[part] ?? 0
        const text = `${t(part as Word)}: ${number(seconds * 1000)} ms (${Math.round((100 * seconds) / sum(parts))} %)`
        return h('span', { title: text, style: { width: `${(100 * seconds) / most}%`, background: color } })
      }),
    )
  const cells = ({ parts }: ProcessRow) =>
    Object.keys(PARTS).map((part) =>
      h('td', { class: 'number' }, number(Number(((parts[part] ?? 0) * 1000).toPrecision(3)))),
    )
  const heads = Object.entries(PARTS).map(([part, color]) =>
    h('th', { scope: 'col', class: 'number' }, h('i', { class: 'dot', style: { background: color } }), t(part as Word)),
  )
  return h(
    'section',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('timeTitle') },
    h('header', {}, h('h3', {}, t('timeTitle')), h('span', { class: 'muted' }, t('timeHint'))),
    h(
      'table',
      { class: 'times' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, t('role')),
          h('th', { scope: 'col', class: 'wide' }, t('time')),
          ...heads,
        ),
      ),
      h(
        'tbody',
        {},
        ...own.map((process) =>
          h('tr', {}, h('th', { scope: 'row' }, process.name), h('td', {}, bar(process)), ...cells(process)),
        ),
      ),
    ),
  )
}

const sum = (parts: Readonly<Record<string, number>>) => Object.values(parts).reduce((all, one) => all + one, 0)

export function jobView({ processes, messages }: RunDetail): HTMLElement {
  const head = (word: Word, isNumber = false) => h('th', { scope: 'col', class: isNumber ? 'number' : '' }, t(word))
  const row = (process: ProcessRow) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, process.name),
      h('td', {}, badge(process.state)),
      h('td', {}, process.host),
      h('td', { class: 'number' }, number(process.step)),
      h('td', { class: 'number' }, number(process.samplesPerSecond && Math.round(process.samplesPerSecond))),
      h('td', { class: 'number' }, process.waiting === undefined ? '' : `${Math.round(100 * process.waiting)} %`),
      h('td', { class: 'number' }, bytes(process.memory)),
      h('td', { class: 'number' }, String(process.starts)),
      h('td', { class: 'number' }, t('ago', { text: duration(Date.now() - process.updatedAt) })),
    )
  return h(
    'div',
    { class: 'stack' },
    processes.length > 1
      ? h('section', { class: 'card scroll' }, h('header', {}, h('h3', {}, t('jobTitle'))), picture(processes))
      : undefined,
    h(
      'section',
      { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('processes') },
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            head('role'),
            head('state'),
            head('host'),
            head('step', true),
            head('rate', true),
            head('waiting', true),
            head('memory', true),
            head('starts', true),
            head('seen', true),
          ),
        ),
        h('tbody', {}, ...processes.map(row)),
      ),
    ),
    messages.length === 0
      ? undefined
      : h(
          'section',
          { class: 'card' },
          h('header', {}, h('h3', {}, t('messages'))),
          h(
            'ul',
            { class: 'messages' },
            ...messages
              .slice(-100)
              .toReversed()
              .map(({ at, process, kind, text }) =>
                h(
                  'li',
                  { class: kind },
                  h('time', {}, new Date(at).toLocaleTimeString()),
                  h('b', {}, process),
                  h('span', {}, text),
                ),
              ),
          ),
        ),
  )
}

const [CELL, BOX, ROW] = [164, 144, 140]
const STATE_COLORS: Readonly<Record<string, string>> = {
  running: 'var(--blue)',
  done: 'var(--green)',
  stopped: 'var(--muted)',
  failed: 'var(--red)',
  died: 'var(--red)',
  silent: 'var(--orange)',
}

/** Trainers above, servers below, a line from each to each; ranks in a ring. */
function picture(processes: readonly ProcessRow[]): Node {
  const servers = processes.filter(({ role }) => role === 'server')
  const trainers = processes.filter(({ role }) => role !== 'server')
  const wide = Math.max(servers.length, trainers.length)
  const width = Math.max(280, wide * CELL + 24)
  const place = (i: number, count: number) => (width - count * CELL) / 2 + i * CELL + CELL / 2
  const links =
    servers.length > 0
      ? trainers.flatMap((worker, i) =>
          servers.map((_, k) =>
            svg('line', {
              x1: place(i, trainers.length),
              y1: 66,
              x2: place(k, servers.length),
              y2: ROW + 10,
              class: 'link',
              'stroke-width':
                1 +
                2 *
                  (worker.samplesPerSecond
                    ? worker.samplesPerSecond / Math.max(...trainers.map((one) => one.samplesPerSecond ?? 0))
                    : 0),
            }),
          ),
        )
      : trainers.slice(1).map((_, i) =>
          svg('line', {
            x1: place(i, trainers.length) + BOX / 2,
            y1: 38,
            x2: place(i + 1, trainers.length) - BOX / 2,
            y2: 38,
            class: 'link',
            'stroke-width': 2,
          }),
        )
  const boxes = [
    ...trainers.map((one, i) => node(one, place(i, trainers.length), 10)),
    ...servers.map((one, i) => node(one, place(i, servers.length), ROW + 10)),
  ]
  return svg(
    'svg',
    {
      width,
      height: servers.length > 0 ? ROW + 80 : 90,
      role: 'img',
      'aria-label': processes.map(({ name, state }) => `${name} ${t(state)}`).join(', '),
    },
    ...links,
    ...boxes,
  )
}

function node({ name, state, samplesPerSecond, waiting, memory, role }: ProcessRow, x: number, y: number): SVGElement {
  const facts =
    role === 'server'
      ? bytes(memory)
      : [
          samplesPerSecond === undefined ? '' : `${number(Math.round(samplesPerSecond))}/s`,
          waiting !== undefined && waiting > 0.05 ? `${t('wait')} ${Math.round(100 * waiting)} %` : '',
        ]
          .filter(Boolean)
          .join(' · ')
  return svg(
    'g',
    {},
    svg('rect', { x: x - BOX / 2, y, width: BOX, height: 56, rx: 8, class: 'node' }),
    svg('circle', { cx: x - BOX / 2 + 14, cy: y + 18, r: 4, fill: STATE_COLORS[state] }),
    svg('text', { x: x - BOX / 2 + 24, y: y + 22, class: 'node-name' }, name),
    svg('text', { x: x - BOX / 2 + 12, y: y + 43, class: 'tick' }, facts || t(state)),
  )
}
