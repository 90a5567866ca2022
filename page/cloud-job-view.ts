/** @file One job of a server: its state and why, its logs, files, pods and runs, and what one may do with it. */

import type { State } from '../src/jobs/dashboard/api.ts'
import type { JobDetail, JobProcess } from '../src/jobs/server/page-api.ts'
import { h, put, tabs } from './dom.ts'
import { askJob, askJobLog, filePath, listenJobs, stopJob, submitAgain } from './jobs-client.ts'
import { jobBadge } from './jobs-view.ts'
import { type LogView, logView } from './log-view.ts'
import { linkTo, linkToJob, route, setParams } from './route.ts'
import { badge } from './runs-table.ts'
import type { View } from './runs-view.ts'
import { settingsTable } from './settings.ts'
import { sureButton } from './sign-in-view.ts'
import { bytes, duration, when } from './text.ts'
import { languageTag, t, type Word } from './words.ts'

const TABS = ['logs', 'curves', 'processes', 'files', 'config'] as const
type Tab = (typeof TABS)[number]

export function cloudJobView(id: string, onState: (isThere: boolean) => void, onError: (error: Error) => void): View {
  const [head, tabBar] = [h('div'), h('div')]
  const panel = h('div', { id: 'panel', role: 'tabpanel', class: 'panel', tabindex: -1 })
  let detail: JobDetail | undefined
  let log: LogView | undefined
  let drawn = ''
  const draw = () => {
    if (!detail) return
    const tab = (TABS as readonly string[]).includes(route().params.get('tab') ?? '')
      ? (route().params.get('tab') as Tab)
      : 'logs'
    put(tabBar, tabs(detail.row.name, Object.fromEntries(TABS.map((name) => [name, t(name)])), tab, choose))
    panel.setAttribute('aria-labelledby', `tab-${tab}`)
    const names = detail.logs.map(({ name }) => name)
    const what = `${tab} ${names}`
    if (what === drawn && tab === 'logs') return log?.refresh()
    drawn = what
    put(panel, PANELS[tab](detail))
  }
  const choose = (tab: string) => {
    setParams({ tab: tab === 'logs' ? '' : tab })
    draw()
  }
  const PANELS: Readonly<Record<Tab, (own: JobDetail) => Node>> = {
    logs: ({ logs }) => {
      const names = logs.map(({ name }) => name)
      log = logView(
        names.toSorted((a, b) => Number(a === 'job') - Number(b === 'job')),
        (name, query) => askJobLog(id, name, query),
      )
      return log.element
    },
    curves: runsOf,
    processes: processesOf,
    files: filesOf,
    config: configOf,
  }
  const load = async () => {
    detail = await askJob(id)
    document.body.dataset['ready'] = 'true'
    if (!detail) return put(head, h('p', { class: 'hint failed' }, t('noJob')))
    // What one types or has asked to be sure of stays.
    if (!head.contains(document.activeElement)) put(head, headOf(detail, load))
    draw()
  }
  load().catch(onError)
  const destroy = listenJobs(id, () => void load().catch(onError), onState)
  return { element: h('main', { id: 'main' }, head, tabBar, panel), destroy }
}

function headOf(
  { row, restarts, needsUgi, permission, wallSeconds }: JobDetail,
  reload: () => Promise<unknown>,
): HTMLElement {
  const facts = [
    `${row.user} / ${row.group}`,
    row.priority,
    row.kind,
    `${row.nodes} ${t('nodes')}`,
    `${t('permission')}: ${permission}`,
    wallSeconds === undefined ? '' : `${t('wallTime')}: ${duration(wallSeconds * 1000)}`,
    `${t('submitted')} ${when(row.submittedAt, languageTag())}`,
    row.remark ?? '',
    row.version ?? '',
  ].filter(Boolean)
  return h(
    'div',
    {},
    h(
      'nav',
      { 'aria-label': 'breadcrumb', class: 'crumbs' },
      h('a', { href: linkToJob('') }, t('jobs')),
      ' / ',
      row.jobId,
    ),
    h(
      'div',
      { class: 'run-head' },
      h('h1', { class: 'title' }, row.name),
      jobBadge(row.phase),
      row.place === undefined ? undefined : h('span', { class: 'tag' }, t('place', { place: row.place })),
      actions(row, needsUgi, reload),
    ),
    h('p', { class: 'muted facts' }, facts.join('  ·  ')),
    row.reason === undefined || row.reason === ''
      ? undefined
      : h('p', { class: `hint ${row.phase === 'failed' ? 'failed' : ''}`, role: 'status' }, row.reason),
    ...restarts.map(({ at, reason = '' }) =>
      h('p', { class: 'hint silent' }, t('restarted', { when: when(at, languageTag()), reason })),
    ),
  )
}

const OVER: ReadonlySet<string> = new Set(['succeeded', 'failed', 'stopped'])

function actions(row: JobDetail['row'], needsUgi: boolean, reload: () => Promise<unknown>): HTMLElement {
  const isOver = OVER.has(row.phase)
  const ugi = h('input', {
    type: 'password',
    class: 'search',
    'aria-label': t('fsUgi'),
    placeholder: t('fsUgi'),
    autocomplete: 'off',
  })
  const again = async () => {
    location.hash = linkToJob(await submitAgain(row.jobId, ugi.value))
  }
  const stop = async () => {
    await stopJob(row.jobId)
    ;(document.activeElement as HTMLElement | null)?.blur()
    await reload()
  }
  return h(
    'span',
    { class: 'actions' },
    !isOver && row.mayStop ? sureButton(t('stop'), stop) : undefined,
    isOver && row.isOwn && needsUgi ? ugi : undefined,
    isOver && row.isOwn ? sureButton(t(row.phase === 'stopped' ? 'start' : 'again'), again) : undefined,
  )
}

const table = (label: string, heads: readonly string[], rows: readonly Node[]) =>
  h(
    'section',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': label },
    h(
      'table',
      {},
      h('thead', {}, h('tr', {}, ...heads.map((head) => h('th', { scope: 'col' }, head)))),
      h('tbody', {}, ...rows),
    ),
  )

function runsOf({ runs }: JobDetail): HTMLElement {
  if (runs.length === 0) return h('p', { class: 'muted' }, t('noRunsOfJob'))
  const row = ({ id, name, state }: JobDetail['runs'][number]) =>
    h('tr', {}, h('th', { scope: 'row' }, h('a', { href: linkTo(id) }, name)), h('td', {}, badge(state as State)))
  return table(t('runs'), [t('name'), t('state')], runs.map(row))
}

function filesOf({ row, files }: JobDetail): HTMLElement {
  const line = ({ name, bytes: size, isThere }: JobDetail['files'][number]) =>
    h(
      'tr',
      {},
      h(
        'th',
        { scope: 'row' },
        isThere ? h('a', { href: filePath(row.jobId, name), download: name }, name) : `${name} (${t('missing')})`,
      ),
      h('td', { class: 'number' }, bytes(size)),
    )
  return table(t('files'), [t('name'), t('size')], files.map(line))
}

/** Pods with what the cluster said of each; elsewhere roles and how many of each there are. */
function processesOf({ processes, roles }: JobDetail): HTMLElement {
  if (processes.length === 0)
    return table(
      t('processes'),
      [t('role'), t('nodes')],
      roles.map(({ name, replicas }) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, String(replicas)))),
    )
  const line = (process: JobProcess) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, `${process.role}.${process.rank}`),
      h('td', {}, process.phase in PHASE_WORDS ? t(process.phase as Word) : process.phase),
      h('td', {}, process.pod ?? ''),
      h('td', {}, process.host ?? ''),
      h('td', { class: 'number' }, process.exitCode === undefined ? '' : String(process.exitCode)),
      h(
        'td',
        {},
        h(
          'ul',
          { class: 'messages' },
          ...(process.events ?? []).map(({ at, type, reason, message, count }) =>
            h(
              'li',
              { class: type === 'Warning' ? 'warning' : '' },
              h('time', {}, new Date(at).toLocaleTimeString()),
              h('b', {}, reason),
              h('span', {}, count > 1 ? `${message} (×${count})` : message),
            ),
          ),
        ),
      ),
    )
  return table(t('pods'), [t('role'), t('state'), t('pods'), t('host'), t('exitCode'), t('event')], processes.map(line))
}

const PHASE_WORDS = { queued: 1, starting: 1, running: 1, succeeded: 1, failed: 1, stopped: 1 }

function configOf({ command, env, data }: JobDetail): HTMLElement {
  return h(
    'div',
    { class: 'stack' },
    h('section', { class: 'card' }, h('header', {}, h('h3', {}, t('command'))), h('pre', { tabindex: 0 }, command)),
    settingsTable([{ name: t('environment'), settings: { ...env, ...data } }]),
  )
}
