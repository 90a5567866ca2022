/** @file All runs: filtered as one types, sorted, grouped, with columns of one's choice; those selected as curves, parameters, settings. */
import type { RunList, RunRow } from '../src/jobs/dashboard/api.ts'
import { colorOf } from './chart.ts'
import { type Grid, grid } from './chart-grid.ts'
import { askRuns, listen } from './client.ts'
import { h, menu, put, tabs } from './dom.ts'
import { parallel } from './parallel.ts'
import { linkTo, remember, remembered, route, setParams } from './route.ts'
import { type Column, columnsOf, inGroups, runsCsv, runsTable, sorted } from './runs-table.ts'
import { saveCsv } from './save-file.ts'
import { settingsTable } from './settings.ts'
import { sweepCards } from './sweeps.ts'
import { setting, shortKey } from './text.ts'
import { t } from './words.ts'

export interface View {
  readonly element: HTMLElement
  destroy(): void
}

const TABS = { table: 'table', curves: 'curves', parallel: 'parallel', compare: 'compare' } as const

export function runsView(onState: (isThere: boolean) => void): View {
  const { params } = route()
  let list: RunList = { version: '', folders: [], runs: [], sweeps: [], unreadable: 0 }
  let isLoaded = false
  const selected = new Set((params.get('runs') ?? '').split(',').filter(Boolean))
  const linked = (params.get('columns') ?? '').split(',').filter(Boolean)
  let shownColumns = linked.length > 0 ? linked : remembered<string[]>('columns', [])
  // A link shows the columns of who copied it.
  if (shownColumns.length > 0) setParams({ columns: shownColumns.join(',') })
  let charts: Grid | undefined
  const panel = h('div', { id: 'panel', role: 'tabpanel', class: 'panel' })
  const head = h('div')
  const sweeps = h('div', { class: 'stack' })
  const note = h('p', { class: 'muted', role: 'status' })

  const visible = () => {
    const words = (route().params.get('q') ?? '').toLowerCase().split(/\s+/)
    const found = list.runs.filter((run) => words.every((word) => textOf(run).includes(word)))
    return sorted(found, columns(), route().params.get('sort') ?? '')
  }
  const columns = (): readonly Column[] => columnsOf(list.runs, shownColumns)
  const chosen = () => list.runs.filter(({ id }) => selected.has(id))
  const shownRuns = () => (selected.size > 0 ? chosen() : visible().slice(0, 10))
  const drawnRuns = () => shownRuns().slice(0, MOST_DRAWN)
  let drawn = ''

  const draw = () => {
    charts?.destroy()
    charts = undefined
    const tab = route().params.get('tab') ?? 'table'
    put(
      head,
      tabs(t('runs'), Object.fromEntries(Object.entries(TABS).map(([name, word]) => [name, t(word)])), tab, choose),
    )
    panel.setAttribute('aria-labelledby', `tab-${tab}`)
    put(sweeps, ...(tab === 'table' || tab === 'parallel' ? sweepCards(list.sweeps, visible()) : []))
    if (isLoaded) put(panel, PANELS[tab as keyof typeof PANELS]?.() ?? PANELS.table())
    const found = visible()
    note.textContent = !isLoaded
      ? ''
      : list.runs.length === 0
        ? t('noRuns')
        : found.length === 0
          ? t('noMatch')
          : `${found.length === list.runs.length ? '' : `${found.length} / `}${list.runs.length} ${t('runs').toLowerCase()}${selected.size > 0 ? `, ${t('selected', { count: selected.size })}` : ''}${list.unreadable > 0 ? `. ${t('unreadable', { count: list.unreadable })}` : ''}`
  }
  const choose = (tab: string) => {
    setParams({ tab: tab === 'table' ? '' : tab })
    draw()
  }
  const select = (ids: readonly string[], isOn: boolean) => {
    for (const id of ids)
      if (isOn) selected.add(id)
      else selected.delete(id)
    setParams({ runs: [...selected].join(',') })
    draw()
  }
  const PANELS = {
    table: () => {
      if (isLoaded && list.runs.length === 0)
        return h('p', { class: 'muted' }, t('noRunsHint', { folders: list.folders.join(', ') }))
      const sort = route().params.get('sort') ?? ''
      const onSort = (key: string) => {
        setParams({ sort: sort === key ? `-${key}` : key })
        draw()
        panel.querySelector<HTMLElement>(`[data-sort="${CSS.escape(key)}"]`)?.focus()
      }
      return runsTable(inGroups(visible(), route().params.get('group') ?? ''), {
        columns: columns(),
        sort,
        onSort,
        selected,
        select,
      })
    },
    curves: () => {
      const runs = drawnRuns()
      const metrics = metricsOf(runs)
      drawn = drawnKey(runs)
      const names = new Map(runs.map(({ id, name }) => [id, name]))
      charts = grid({
        runs: runs.map(({ id }) => id),
        metrics,
        marks: [],
        lines: runs.length,
        nameOf: ({ run }) => names.get(run) ?? run,
      })
      const [shown, total] = [runs.length, shownRuns().length]
      const hint = selected.size === 0 ? t('selectHint') : shown < total ? t('runsDrawn', { shown, total }) : undefined
      return h('div', {}, hint && h('p', { class: 'muted' }, hint), charts.element)
    },
    parallel: () => parallel(selected.size > 0 ? chosen() : visible()),
    compare: () =>
      settingsTable(
        shownRuns().map(({ name, settings, id }, i) => ({ name, settings, color: colorOf(i), link: linkTo(id) })),
      ),
  }

  const search = h('input', {
    type: 'search',
    class: 'search',
    placeholder: t('filterHint'),
    'aria-label': t('filter'),
    value: params.get('q') ?? '',
  })
  search.addEventListener('input', () => {
    setParams({ q: search.value })
    draw()
  })
  const columnMenu = menu(t('columns'), () =>
    columnsOf(list.runs, undefined).map(({ key, label }) => {
      const isOn = columns().some((column) => column.key === key)
      const box = h('input', { type: 'checkbox', checked: isOn })
      box.addEventListener('change', () => {
        const now = columns().map((column) => column.key)
        shownColumns = box.checked ? [...now, key] : now.filter((one) => one !== key)
        remember('columns', shownColumns)
        setParams({ columns: shownColumns.join(',') })
        draw()
      })
      return h('label', {}, box, label)
    }),
  )
  const groups = h('select', { 'aria-label': t('group') })
  groups.addEventListener('change', () => {
    setParams({ group: groups.value })
    draw()
  })
  const clear = h(
    'button',
    { type: 'button', class: 'button', onclick: () => select([...selected], false) },
    t('clear'),
  )

  const load = async () => {
    list = await askRuns()
    const isFirst = !isLoaded
    isLoaded = true
    const keys = [
      ...(list.sweeps.length > 0 ? ['sweep'] : []),
      'state',
      'model',
      ...new Set(list.runs.flatMap(({ settings }) => Object.keys(settings))),
    ]
    put(
      groups,
      ...['', ...keys].map((key) =>
        h(
          'option',
          { value: key, selected: key === (route().params.get('group') ?? '') },
          key === '' ? `${t('group')}: ${t('none')}` : shortKey(key),
        ),
      ),
    )
    const focus = document.activeElement?.getAttribute('data-focus')
    // Runs of a sweep come in as they are made.
    if (charts && !isFirst && drawn === drawnKey(drawnRuns())) charts.refresh()
    else draw()
    if (focus) document.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focus)}"]`)?.focus()
    document.body.dataset['ready'] = 'true'
  }
  void load()
  const stop = listen('', () => void load(), onState)
  draw()
  const csv = h(
    'button',
    {
      type: 'button',
      class: 'button',
      'aria-label': t('saveCsv', { name: t('runs') }),
      onclick: () => saveCsv(t('runs'), runsCsv(visible(), columns())),
    },
    t('csv'),
  )
  const toolbar = h('div', { class: 'toolbar' }, search, groups, columnMenu, clear, csv)
  const element = h('main', { id: 'main' }, h('h1', { class: 'title' }, t('runs')), toolbar, note, sweeps, head, panel)
  const destroy = () => {
    stop()
    charts?.destroy()
  }
  return { element, destroy }
}

/** As many runs as are answered at once. */
const MOST_DRAWN = 50

const metricsOf = (runs: readonly RunRow[]) => [
  ...new Set(runs.flatMap((run) => Object.keys({ ...run.metrics, ...run.test }))),
  'samplesPerSecond',
]
const drawnKey = (runs: readonly RunRow[]) => [...runs.map(({ id }) => id), ...metricsOf(runs)].join(' ')

const textOf = (run: RunRow) =>
  [
    run.name,
    run.model,
    run.state,
    t(run.state),
    ...run.tags,
    ...(run.sweep === undefined ? [] : [`sweep=${run.sweep}`]),
    ...Object.entries(run.settings).map(([key, value]) => `${key}=${setting(value)}`),
  ]
    .join('\n')
    .toLowerCase()
