/** @file The page: its head, and the view that the address names. */
import type { Me } from '../src/jobs/server/page-api.ts'
import { Refusal, setBase } from './client.ts'
import { cloudJobView } from './cloud-job-view.ts'
import { h, put } from './dom.ts'
import { askMe, jobPath, signOut } from './jobs-client.ts'
import { jobsView } from './jobs-view.ts'
import { ACCOUNT, linkToJob, remember, remembered, route } from './route.ts'
import { runView } from './run-view.ts'
import { runsView, type View } from './runs-view.ts'
import { accountView, signInView } from './sign-in-view.ts'
import { languageTag, switchLanguage, t } from './words.ts'

const app = document.getElementById('app')!
const lost = h('p', { class: 'hint silent', role: 'status', hidden: true })
let view: View | undefined
/** The page of a job server, which one signs in to; else the runs of some folders. */
const isJobs = document.documentElement.dataset['kind'] === 'jobs'
let me: Me | undefined

/** A session that has ended leads back to signing in. */
function onError(error: Error): void {
  if (error instanceof Refusal && error.status === 401) {
    me = undefined
    show()
    return
  }
  lost.textContent = error.message
  lost.hidden = false
}

async function enter(): Promise<void> {
  me = await askMe()
  show()
}

function viewOf(onState: (isThere: boolean) => void): View {
  const { run, job, page } = route()
  const still = (element: HTMLElement): View => {
    document.body.dataset['ready'] = 'true'
    return { element, destroy: () => undefined }
  }
  if (isJobs && !me) return still(signInView(() => void enter()))
  if (isJobs && page === 'account') {
    // Held nodes and queues as they are now.
    void askMe().then((now) => {
      me = now
      put(app, ...[...app.children].slice(0, -1), accountView(now))
    }, onError)
    return still(accountView(me!))
  }
  setBase(isJobs ? jobPath(job) : '')
  if (run !== '') return runView(run, onState)
  if (!isJobs) return runsView(onState)
  return job === '' ? jobsView(onState, onError) : cloudJobView(job, onState, onError)
}

function show(): void {
  view?.destroy()
  delete document.body.dataset['ready']
  document.documentElement.lang = languageTag()
  lost.textContent = t('lost')
  const onState = (isThere: boolean) => {
    lost.hidden = isThere
  }
  view = viewOf(onState)
  const skip = h(
    'a',
    {
      class: 'skip',
      href: '#main',
      onclick: (event: Event) => {
        event.preventDefault()
        const main = document.getElementById('main')
        main?.setAttribute('tabindex', '-1')
        main?.focus()
      },
    },
    t('runs'),
  )
  const theme = h(
    'button',
    { type: 'button', class: 'icon', 'aria-label': t('theme'), title: t('theme'), onclick: switchTheme },
    '◐',
  )
  const language = h(
    'button',
    {
      type: 'button',
      class: 'icon',
      onclick: () => {
        switchLanguage()
        show()
      },
    },
    t('language'),
  )
  const head = h(
    'header',
    { class: 'top' },
    skip,
    h('a', { class: 'brand', href: linkToJob('') }, 'Oarfish'),
    ...(me ? [h('a', { href: linkToJob('') }, t('jobs')), h('a', { href: ACCOUNT }, me.name)] : []),
    h('span', { class: 'gap' }),
    me ? h('button', { type: 'button', class: 'icon', onclick: leave }, t('signOut')) : undefined,
    language,
    theme,
  )
  put(app, head, lost, view.element)
}

function leave(): void {
  void signOut().finally(() => {
    me = undefined
    show()
  })
}

function applyTheme(): void {
  document.documentElement.dataset['theme'] = remembered<string>(
    'theme',
    matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light',
  )
}

function switchTheme(): void {
  remember('theme', document.documentElement.dataset['theme'] === 'dark' ? 'light' : 'dark')
  applyTheme()
  show()
}

applyTheme()
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  applyTheme()
  show()
})
addEventListener('hashchange', show)
addEventListener('popstate', show)
if (isJobs) void enter().catch(show)
else show()
