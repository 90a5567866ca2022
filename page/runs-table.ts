/** @file The table of runs: its columns, its order, its groups. */
import type { RunRow, State } from '../src/jobs/dashboard/api.ts'
import { h } from './dom.ts'
import { linkTo } from './route.ts'
import { duration, metric, number, setting, shortKey, when } from './text.ts'
import { languageTag, t } from './words.ts'

export interface Column {
  readonly key: string
  readonly label: string
  readonly isNumber: boolean
  readonly value: (run: RunRow) => string | number | undefined
  readonly text: (run: RunRow) => string | Node
}

const MOST_PARAMETERS = 3

/** Those that are chosen; an empty choice is the usual ones, undefined all there are. */
export function columnsOf(runs: readonly RunRow[], chosen: readonly string[] | undefined): readonly Column[] {
  const names = (of: (run: RunRow) => object) => [...new Set(runs.flatMap((run) => Object.keys(of(run))))]
  const measured = (prefix: 'test' | 'metrics') =>
    names((run) => run[prefix]).map((name): Column => {
      const value = (run: RunRow) => run[prefix][name]
      return {
        key: `${prefix}.${name}`,
        label: prefix === 'test' ? t('test', { name }) : name,
        isNumber: true,
        value,
        text: (run) => metric(value(run)),
      }
    })
  const parameters = names((run) => run.settings).map((key): Column => {
    const value = (run: RunRow) => run.settings[key] as string | number | undefined
    const isNumber = runs.every((run) => ['number', 'undefined'].includes(typeof run.settings[key]))
    return { key, label: shortKey(key), isNumber, value, text: (run) => cellText(value(run)) }
  })
  // What a model is made with, before how it is run.
  parameters.sort((a, b) => Number(isOfModel(b.key)) - Number(isOfModel(a.key)))
  const own = runs.some(({ sweep }) => sweep !== undefined) ? [SWEEP()] : []
  const all = [...BASE(), ...own, ...measured('test'), ...measured('metrics'), ...parameters]
  if (chosen === undefined) return all
  if (chosen.length > 0) return all.filter(({ key }) => chosen.includes(key))
  const differing = parameters.filter(({ value }) => new Set(runs.map((run) => setting(value(run)))).size > 1)
  const usual = new Set([
    ...['state', 'started', 'duration', 'epoch', 'rate', 'tags', 'sweep'],
    ...names((run) => run.test)
      .slice(0, 3)
      .map((name) => `test.${name}`),
    ...differing.slice(0, MOST_PARAMETERS).map(({ key }) => key),
  ])
  if (names((run) => run.test).length === 0)
    for (const name of names((run) => run.metrics).slice(0, 3)) usual.add(`metrics.${name}`)
  return all.filter(({ key }) => usual.has(key))
}

const isOfModel = (key: string) => key.startsWith('hyper_parameters.')

/** Two thousand is 2000 in a config, not 2,000. */
export const cellText = (value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toPrecision(4))) : setting(value)

const lasted = (run: RunRow) => (run.state === 'running' ? Date.now() : run.updatedAt) - run.createdAt

const BASE = (): readonly Column[] => [
  {
    key: 'state',
    label: t('state'),
    isNumber: false,
    value: (run) => run.state,
    text: (run) => badge(run.state, run.progress),
  },
  {
    key: 'started',
    label: t('started'),
    isNumber: false,
    value: (run) => run.createdAt,
    text: (run) => when(run.createdAt, languageTag()),
  },
  { key: 'duration', label: t('duration'), isNumber: true, value: lasted, text: (run) => duration(lasted(run)) },
  {
    key: 'epoch',
    label: t('epoch'),
    isNumber: true,
    value: (run) => run.epoch,
    text: (run) => (run.epoch === undefined ? '' : `${run.epoch + 1}${run.epochs ? ` / ${run.epochs}` : ''}`),
  },
  {
    key: 'rate',
    label: t('rate'),
    isNumber: true,
    value: (run) => run.samplesPerSecond,
    text: (run) => number(run.samplesPerSecond && Math.round(run.samplesPerSecond)),
  },
  {
    key: 'processes',
    label: t('processes'),
    isNumber: true,
    value: (run) => run.processes,
    text: (run) => String(run.processes),
  },
  {
    key: 'tags',
    label: t('tags'),
    isNumber: false,
    value: (run) => run.tags.join(' '),
    text: (run) => h('span', { class: 'tags' }, ...run.tags.map((tag) => h('span', { class: 'tag' }, tag))),
  },
]

const SWEEP = (): Column => ({
  key: 'sweep',
  label: t('sweep'),
  isNumber: false,
  value: (run) => run.sweep,
  text: (run) => run.sweep ?? '',
})

/** With all digits, and times that programs read. */
export function runsCsv(runs: readonly RunRow[], columns: readonly Column[]): (string | number | undefined)[][] {
  const value = (run: RunRow, { key, value: read }: Column) => {
    const found = read(run)
    if (key === 'started') return new Date(Number(found)).toISOString()
    return typeof found === 'number' ? found : setting(found)
  }
  return [
    ['name', ...columns.map(({ key }) => key)],
    ...runs.map((run) => [run.name, ...columns.map((one) => value(run, one))]),
  ]
}

export function badge(state: State, progress?: number): HTMLElement {
  const share = state === 'running' && progress !== undefined ? ` ${Math.floor(100 * progress)} %` : ''
  return h('span', { class: `badge ${state}` }, t(state), share)
}

/** `-test.auc` is downwards. What has no value comes last, whichever way. */
export function sorted(runs: readonly RunRow[], columns: readonly Column[], order: string): readonly RunRow[] {
  if (order === '') return runs
  const isDown = order.startsWith('-')
  const key = order.replace(/^-/, '')
  const value = key === 'name' ? (run: RunRow) => run.name : columns.find((column) => column.key === key)?.value
  if (!value) return runs
  const rank = (a: string | number, b: string | number) =>
    typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true })
  return [...runs].sort((a, b) => {
    const [first, second] = [value(a), value(b)]
    if (first === undefined || second === undefined) return Number(first === undefined) - Number(second === undefined)
    return (isDown ? -1 : 1) * rank(first, second)
  })
}

export interface Group {
  readonly name: string | undefined
  readonly runs: readonly RunRow[]
}

export function inGroups(runs: readonly RunRow[], key: string): readonly Group[] {
  if (key === '') return [{ name: undefined, runs }]
  const groups = new Map<string, RunRow[]>()
  for (const run of runs) {
    const name = setting(key === 'state' || key === 'model' || key === 'sweep' ? run[key] : run.settings[key])
    groups.set(name, [...(groups.get(name) ?? []), run])
  }
  return [...groups].map(([name, own]) => ({ name: `${shortKey(key)} = ${name || t('none')}`, runs: own }))
}

interface TableOptions {
  readonly columns: readonly Column[]
  readonly sort: string
  readonly onSort: (key: string) => void
  readonly selected: ReadonlySet<string>
  readonly select: (ids: readonly string[], isOn: boolean) => void
}

/** Rows beyond this are made when one scrolls there. */
const MOST_ROWS = 200

export function runsTable(
  groups: readonly Group[],
  { columns, sort, onSort, selected, select }: TableOptions,
): HTMLElement {
  const all = groups.flatMap(({ runs }) => runs)
  const box = (ids: readonly string[], label: string) => {
    const isOn = ids.length > 0 && ids.every((id) => selected.has(id))
    return h('input', {
      type: 'checkbox',
      checked: isOn,
      'aria-label': label,
      'data-focus': ids.length === 1 ? `select-${ids[0]}` : 'select-all',
      onchange: (event: Event) => select(ids, (event.target as HTMLInputElement).checked),
    })
  }
  const header = (key: string, label: string, isNumber: boolean) => {
    const direction = sort === key ? 'ascending' : sort === `-${key}` ? 'descending' : 'none'
    const arrow = { ascending: ' ↑', descending: ' ↓', none: '' }[direction]
    const button = h(
      'button',
      { type: 'button', class: 'sort', 'data-sort': key, 'data-focus': `sort-${key}`, onclick: () => onSort(key) },
      `${label}${arrow}`,
    )
    return h('th', { scope: 'col', 'aria-sort': direction, class: isNumber ? 'number' : '' }, button)
  }
  const row = (run: RunRow) =>
    h(
      'tr',
      {},
      h('td', { class: 'check' }, box([run.id], t('select', { name: run.name }))),
      h('th', { scope: 'row' }, h('a', { href: linkTo(run.id), 'data-focus': `open-${run.id}` }, run.name)),
      ...columns.map(({ text, isNumber }) => h('td', { class: isNumber ? 'number' : '' }, text(run))),
    )
  const rows = groups.flatMap(({ name, runs }) => [
    ...(name === undefined
      ? []
      : [
          () =>
            h(
              'tr',
              { class: 'group' },
              h('th', { scope: 'rowgroup', colspan: columns.length + 2 }, `${name} (${runs.length})`),
            ),
        ]),
    ...runs.map((run) => () => row(run)),
  ])
  const body = h('tbody', {}, ...rows.slice(0, MOST_ROWS).map((make) => make()))
  const table = h(
    'table',
    { class: 'runs' },
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h(
          'th',
          { scope: 'col', class: 'check' },
          box(
            all.map(({ id }) => id),
            t('selectAll'),
          ),
        ),
        header('name', t('name'), false),
        ...columns.map(({ key, label, isNumber }) => header(key, label, isNumber)),
      ),
    ),
    body,
  )
  const frame = h('div', { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('runs') }, table)
  let made = MOST_ROWS
  frame.addEventListener('scroll', () => {
    if (made >= rows.length || frame.scrollTop + frame.clientHeight < frame.scrollHeight - 600) return
    body.append(...rows.slice(made, made + MOST_ROWS).map((make) => make()))
    made += MOST_ROWS
  })
  return frame
}
