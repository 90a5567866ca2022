/** @file The processes of a run: where the time of each goes, who works with whom, and how each is. */
import type { ProcessRow, RunDetail } from '../src/jobs/dashboard/api.ts'
import { h } from './dom.ts'
import { jobPicture, waitLines } from './job-picture.ts'
import { badge } from './runs-table.ts'
import { saveTools } from './save-tools.ts'
import { bytes, duration, number, timeText } from './text.ts'
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
  const row = (process: ProcessRow) =>
    h('tr', {}, h('th', { scope: 'row' }, process.name), h('td', {}, bar(process)), ...cells(process))
  const first = [h('th', { scope: 'col' }, t('role')), h('th', { scope: 'col', class: 'wide' }, t('time'))]
  const table = h(
    'table',
    { class: 'times' },
    h('thead', {}, h('tr', {}, ...first, ...heads)),
    h('tbody', {}, ...own.map(row)),
  )
  return h(
    'section',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('timeTitle') },
    h(
      'header',
      {},
      h('h3', {}, t('timeTitle')),
      h('span', { class: 'muted' }, t('timeHint')),
      saveTools(t('timeTitle'), { table }),
    ),
    table,
  )
}

const sum = (parts: Readonly<Record<string, number>>) => Object.values(parts).reduce((all, one) => all + one, 0)

export function jobView({ processes, messages }: RunDetail): HTMLElement {
  const region = (title: string, content: readonly Node[], tools: HTMLElement) =>
    h(
      'section',
      { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': title },
      h('header', {}, h('h3', {}, title), tools),
      ...content,
    )
  const picture = processes.length > 1 ? jobPicture(processes) : undefined
  const waits = waitLines(processes).map((line) => h('p', { class: 'muted waits' }, line))
  const table = processesTable(processes)
  const tables = levels(processes)
  return h(
    'div',
    { class: 'stack' },
    picture && region(t('jobTitle'), [picture, ...waits], saveTools(t('jobTitle'), { picture })),
    region(t('processes'), [table], saveTools(t('processes'), { table })),
    tables && region(t('tables'), [tables], saveTools(t('tables'), { table: tables })),
    messages.length === 0 ? undefined : messagesOf(messages),
  )
}

function processesTable(processes: readonly ProcessRow[]): HTMLTableElement {
  const row = (process: ProcessRow) => {
    const { name, state, host, step, samplesPerSecond, waiting, staleness, memory, starts, updatedAt } = process
    const numbers = [
      number(step),
      number(samplesPerSecond && Math.round(samplesPerSecond)),
      waiting === undefined ? '' : `${Math.round(100 * waiting)} %`,
      staleness === undefined ? '' : number(Number(staleness.toFixed(1))),
      bytes(memory),
      String(starts),
      t('ago', { text: duration(Date.now() - updatedAt) }),
    ]
    const cells = numbers.map((text) => h('td', { class: 'number' }, text))
    return h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, badge(state)), h('td', {}, host), ...cells)
  }
  const texts = ['role', 'state', 'host'] as const
  const numbers = ['step', 'rate', 'waiting', 'stale', 'memory', 'starts', 'seen'] as const
  const heads = [
    ...texts.map((word) => h('th', { scope: 'col' }, t(word))),
    ...numbers.map((word) => h('th', { scope: 'col', class: 'number' }, t(word))),
  ]
  return h('table', { class: 'times' }, h('thead', {}, h('tr', {}, ...heads)), h('tbody', {}, ...processes.map(row)))
}

/** The newest first. */
function messagesOf(messages: RunDetail['messages']): HTMLElement {
  const line = ({ at, process, kind, text }: RunDetail['messages'][number]) =>
    h('li', { class: kind }, h('time', {}, timeText(at / 1000, 1)), h('b', {}, process), h('span', {}, text))
  return h(
    'section',
    { class: 'card' },
    h('header', {}, h('h3', {}, t('messages'))),
    h('ul', { class: 'messages' }, ...messages.slice(-100).toReversed().map(line)),
  )
}

/** How large each table is where, now; how it grew is among the curves. */
function levels(processes: readonly ProcessRow[]): HTMLTableElement | undefined {
  const rows = processes.flatMap(({ name, tables }) => tables.map((table) => ({ name, ...table })))
  if (rows.length === 0) return undefined
  const cell = (text: string) => h('td', { class: 'number' }, text)
  const titles = ['tableName', 'rowsInMemory', 'memory', 'rowsOnDisk', 'diskSize'] as const
  const heads = titles.map((word, i) => h('th', { scope: 'col', class: i > 0 ? 'number' : '' }, t(word)))
  const row = ({ name, table, memoryRows, memoryBytes, diskRows, diskBytes }: (typeof rows)[number]) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, name),
      h('td', {}, table),
      cell(number(memoryRows)),
      cell(bytes(memoryBytes)),
      cell(diskBytes > 0 ? number(diskRows) : ''),
      cell(diskBytes > 0 ? bytes(diskBytes) : ''),
    )
  return h(
    'table',
    { class: 'times' },
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('role')), ...heads)),
    h('tbody', {}, ...rows.map(row)),
  )
}
