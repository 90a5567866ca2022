/** @file One run: what it is, how far, what is worth knowing, and its curves, time, processes, epochs, logs and settings. */
import type { RunDetail, Values } from '../src/jobs/dashboard/api.ts'
import { type Grid, grid } from './chart-grid.ts'
import { askLog, askRun, listen } from './client.ts'
import { h, put, tabs } from './dom.ts'
import { epochsView } from './epochs-view.ts'
import { jobView, timeView } from './job-view.ts'
import { type LogView, logView } from './log-view.ts'
import { onlineView } from './online-view.ts'
import { linkTo, route, setParams } from './route.ts'
import { badge } from './runs-table.ts'
import type { View } from './runs-view.ts'
import { settingsTable } from './settings.ts'
import { duration, metric, number, when } from './text.ts'
import { languageTag, t, type Word } from './words.ts'

const TABS = ['overview', 'inside', 'time', 'job', 'epochs', 'online', 'logs', 'config'] as const

/** Only online training publishes. */
const tabsOf = ({ online }: RunDetail) => TABS.filter((name) => name !== 'online' || online)

export function runView(id: string, onState: (isThere: boolean) => void): View {
  const head = h('div')
  const tabBar = h('div')
  const panel = h('div', { id: 'panel', role: 'tabpanel', class: 'panel', tabindex: -1 })
  let detail: RunDetail | undefined
  let charts: Grid | undefined
  let log: LogView | undefined
  let drawn = ''

  const draw = () => {
    if (!detail) return
    const tab = route().params.get('tab') ?? 'overview'
    put(tabBar, tabs(detail.row.name, Object.fromEntries(tabsOf(detail).map((name) => [name, t(name)])), tab, choose))
    panel.setAttribute('aria-labelledby', `tab-${tab}`)
    const metrics = metricsOf(detail, tab === 'inside')
    const what = `${tab} ${metrics.join()}`
    // Curves and logs look after themselves: what one has zoomed into or searched for stays.
    if (what === drawn && charts) return charts.refresh()
    if (what === drawn && tab === 'logs') return log?.refresh()
    drawn = what
    charts?.destroy()
    charts = undefined
    put(panel, PANELS[tab as (typeof TABS)[number]]?.(detail, metrics) ?? '')
  }
  const choose = (tab: string) => {
    setParams({ tab: tab === 'overview' ? '' : tab })
    draw()
  }
  const curves = ({ marks, processes }: RunDetail, metrics: readonly string[]) => {
    charts = grid({ runs: [id], metrics, marks, lines: processes.length, nameOf: ({ process }) => process })
    return charts.element
  }
  const PANELS: Readonly<Record<(typeof TABS)[number], (own: RunDetail, metrics: readonly string[]) => Node>> = {
    overview: curves,
    inside: curves,
    time: timeView,
    job: jobView,
    epochs: epochsView,
    online: onlineView,
    logs: ({ processes }) => {
      const logged = processes.filter(({ hasLog }) => hasLog).map(({ name }) => name)
      log = logView(logged, (name, query) => askLog(id, name, query))
      return log.element
    },
    config: configView,
  }
  const load = async () => {
    detail = await askRun(id)
    if (!detail) return put(head, h('p', { class: 'hint failed' }, t('gone')))
    put(head, headOf(detail))
    draw()
    document.body.dataset['ready'] = 'true'
  }
  void load()
  const stop = listen(id, () => void load(), onState)
  const element = h('main', { id: 'main' }, head, tabBar, panel)
  const destroy = () => {
    stop()
    charts?.destroy()
  }
  return { element, destroy }
}

/** What is behind the metrics: norms, staleness, traffic, tables. */
const INSIDE = /^(norm\.|link\.|table\.|staleness$|memory$)/
const LAST = ['learning_rate', 'samplesPerSecond']

/** Loss and AUC first, rates last; seconds by part have a tab of their own. */
function metricsOf({ columns }: RunDetail, isInside: boolean): readonly string[] {
  if (isInside) return columns.filter((name) => INSIDE.test(name))
  const own = columns.filter(
    (name) =>
      !name.startsWith('time.') && !INSIDE.test(name) && !['secondsPerBatch', 'waitSeconds', ...LAST].includes(name),
  )
  const first = ['loss', 'auc'].filter((name) => own.includes(name))
  return [...first, ...own.filter((name) => !first.includes(name)), ...LAST.filter((name) => columns.includes(name))]
}

function headOf({ row, hints, commit, host, oarfish }: RunDetail): HTMLElement {
  const tile = (label: string, value: string) =>
    value === '' ? undefined : h('div', { class: 'tile' }, h('span', { class: 'muted' }, label), h('strong', {}, value))
  const measured = (values: Values, label: (name: string) => string) =>
    Object.entries(values)
      .slice(0, 4)
      .map(([name, value]) => tile(label(name), metric(value)))
  const copy = h('button', { type: 'button', class: 'button' }, t('link'))
  copy.addEventListener('click', () => {
    void navigator.clipboard?.writeText(location.href).then(() => put(copy, t('copied')))
  })
  const lasted = (row.state === 'running' ? Date.now() : row.updatedAt) - row.createdAt
  const facts = [
    row.model,
    when(row.createdAt, languageTag()),
    host,
    `oarfish ${oarfish}`,
    commit === undefined ? '' : `${t('commit')} ${commit.slice(0, 10)}`,
  ].filter(Boolean)
  return h(
    'div',
    {},
    h(
      'nav',
      { 'aria-label': 'breadcrumb', class: 'crumbs' },
      h('a', { href: linkTo('') }, t(route().job === '' ? 'runs' : 'theJob')),
      ' / ',
    ),
    h(
      'div',
      { class: 'run-head' },
      h('h1', { class: 'title' }, row.name),
      badge(row.state, row.progress),
      ...row.tags.map((tag) => h('span', { class: 'tag' }, tag)),
      copy,
    ),
    h('p', { class: 'muted facts' }, facts.join('  ·  ')),
    row.progress !== undefined && row.state === 'running'
      ? h('progress', { max: 1, value: row.progress, 'aria-label': t('running') })
      : undefined,
    row.error === undefined ? undefined : h('p', { class: 'hint failed', role: 'alert' }, row.error),
    ...hints.map(({ kind, values }) => h('p', { class: `hint ${kind}` }, t(`hint.${kind}` as Word, values))),
    h(
      'div',
      { class: 'tiles' },
      ...measured(row.test, (name) => t('test', { name })),
      ...measured(row.metrics, (name) => name),
      tile(t('rate'), number(row.samplesPerSecond && Math.round(row.samplesPerSecond))),
      tile(t('step'), number(row.step)),
      tile(t('epoch'), row.epoch === undefined ? '' : `${row.epoch + 1}${row.epochs ? ` / ${row.epochs}` : ''}`),
      tile(t('duration'), duration(lasted)),
    ),
  )
}

function configView({ row, settings, source, command }: RunDetail): HTMLElement {
  return h(
    'div',
    { class: 'stack' },
    settingsTable([{ name: t('resolved'), settings }]),
    h(
      'section',
      { class: 'card' },
      h('header', {}, h('h3', {}, `${t('source')}: ${source?.file ?? ''}`)),
      h(
        'pre',
        { tabindex: 0 },
        [...(source?.overrides ?? []).map((one) => `# -o ${one}`), source?.text ?? ''].join('\n'),
      ),
    ),
    h(
      'section',
      { class: 'card' },
      h('header', {}, h('h3', {}, t('command'))),
      h('pre', { tabindex: 0 }, command.join(' ')),
      h('p', { class: 'muted' }, `${t('folder')}: ${row.folder}`),
    ),
  )
}
