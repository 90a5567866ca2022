/** @file The processes of a run: where the time of each goes, who works with whom, and how each is. */
import type { ProcessRow, RunDetail } from '../src/jobs/dashboard/api.ts'
import { h } from './dom.ts'
import { jobPicture, waitLines } from './job-picture.ts'
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
      h('td', { class: 'number' }, process.staleness === undefined ? '' : number(Number(process.staleness.toFixed(1)))),
      h('td', { class: 'number' }, bytes(process.memory)),
      h('td', { class: 'number' }, String(process.starts)),
      h('td', { class: 'number' }, t('ago', { text: duration(Date.now() - process.updatedAt) })),
    )
  return h(
    'div',
    { class: 'stack' },
    processes.length > 1
      ? h(
          'section',
          { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('jobTitle') },
          h('header', {}, h('h3', {}, t('jobTitle'))),
          jobPicture(processes),
          ...waitLines(processes).map((line) => h('p', { class: 'muted waits' }, line)),
        )
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
            head('stale', true),
            head('memory', true),
            head('starts', true),
            head('seen', true),
          ),
        ),
        h('tbody', {}, ...processes.map(row)),
      ),
    ),
    levels(processes),
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

/** How large each table is where, now; how it grew is among the curves. */
function levels(processes: readonly ProcessRow[]): HTMLElement | undefined {
  const rows = processes.flatMap(({ name, tables }) => tables.map((table) => ({ name, ...table })))
  if (rows.length === 0) return undefined
  const cell = (text: string) => h('td', { class: 'number' }, text)
  const titles = ['tableName', 'rowsInMemory', 'memory', 'rowsOnDisk', 'diskSize'] as const
  return h(
    'section',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('tables') },
    h('header', {}, h('h3', {}, t('tables'))),
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, t('role')),
          ...titles.map((word, i) => h('th', { scope: 'col', class: i > 0 ? 'number' : '' }, t(word))),
        ),
      ),
      h(
        'tbody',
        {},
        ...rows.map(({ name, table, memoryRows, memoryBytes, diskRows, diskBytes }) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, name),
            h('td', {}, table),
            cell(number(memoryRows)),
            cell(bytes(memoryBytes)),
            cell(diskBytes > 0 ? number(diskRows) : ''),
            cell(diskBytes > 0 ? bytes(diskBytes) : ''),
          ),
        ),
      ),
    ),
  )
}
