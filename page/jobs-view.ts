/** @file The jobs of a server that one may see: filtered as one types, newest first, with their state and place in the queue. */
import type { JobRow, JobState } from '../src/jobs/server/page-api.ts'
import { h, put } from './dom.ts'
import { askJobs, listenJobs } from './jobs-client.ts'
import { linkToJob, route, setParams } from './route.ts'
import type { View } from './runs-view.ts'
import { duration, when } from './text.ts'
import { languageTag, t, type Word } from './words.ts'

const COLORS: Readonly<Record<JobState, string>> = {
  uploading: 'silent',
  queued: 'silent',
  starting: 'running',
  running: 'running',
  succeeded: 'done',
  failed: 'failed',
  stopped: 'stopped',
}

export const jobBadge = (phase: JobState) => h('span', { class: `badge ${COLORS[phase]}` }, t(phase))

export function jobsView(onState: (isThere: boolean) => void, onError: (error: Error) => void): View {
  let jobs: readonly JobRow[] | undefined
  const panel = h('div', { class: 'panel' })
  const note = h('p', { class: 'muted', role: 'status' })
  const search = h('input', {
    type: 'search',
    class: 'search',
    'aria-label': t('findJobs'),
    placeholder: t('findJobs'),
    value: route().params.get('q') ?? '',
  })
  const draw = () => {
    if (!jobs) return
    const words = search.value.toLowerCase().split(/\s+/)
    const found = jobs.filter((job) => words.every((word) => textOf(job).includes(word)))
    note.textContent = jobs.length === 0 ? t('noJobs') : `${found.length} / ${jobs.length}`
    put(panel, jobs.length === 0 ? undefined : table(found))
  }
  search.addEventListener('input', () => {
    setParams({ q: search.value })
    draw()
  })
  const load = async () => {
    jobs = await askJobs()
    draw()
    document.body.dataset['ready'] = 'true'
  }
  load().catch(onError)
  const destroy = listenJobs('', () => void load().catch(onError), onState)
  const element = h(
    'main',
    { id: 'main' },
    h('h1', { class: 'title' }, t('jobs')),
    h('div', { class: 'toolbar' }, search, note),
    panel,
  )
  return { element, destroy }
}

const textOf = ({ jobId, name, user, group, priority, phase, remark = '' }: JobRow) =>
  [jobId, name, user, group, priority, phase, t(phase), remark].join('\n').toLowerCase()

function table(jobs: readonly JobRow[]): HTMLElement {
  const head = (word: Word, isNumber = false) => h('th', { scope: 'col', class: isNumber ? 'number' : '' }, t(word))
  const row = (job: JobRow) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, h('a', { href: linkToJob(job.jobId) }, job.name)),
      h('td', {}, jobBadge(job.phase), job.place === undefined ? '' : ` ${t('place', { place: job.place })}`),
      h('td', {}, job.user),
      h('td', {}, job.group),
      h('td', {}, job.priority),
      h('td', { class: 'number' }, String(job.nodes)),
      h('td', {}, when(job.submittedAt, languageTag())),
      h('td', {}, t('ago', { text: duration(Date.now() - job.changedAt) })),
      h('td', { class: 'reason' }, (job.reason ?? '').split('\n')[0]),
    )
  return h(
    'section',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('jobs') },
    h(
      'table',
      { class: 'jobs' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          head('name'),
          head('state'),
          head('user'),
          head('theGroup'),
          head('priority'),
          head('nodes', true),
          head('submitted'),
          head('changed'),
          head('reason'),
        ),
      ),
      h('tbody', {}, ...jobs.map(row)),
    ),
  )
}
