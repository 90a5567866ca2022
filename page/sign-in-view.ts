/** @file Where one signs in, and one's account: keys, groups, queues. */
import type { Me } from '../src/jobs/server/page-api.ts'
import { h, put } from './dom.ts'
import { rotateKeys, signIn } from './jobs-client.ts'
import { linkToJob } from './route.ts'
import { t, type Word } from './words.ts'

export function signInView(onSignedIn: () => void): HTMLElement {
  const field = (word: Word, name: string, type: string, autocomplete: string) => {
    const input = h('input', {
      type,
      name,
      id: name,
      autocomplete,
      required: true,
      spellcheck: 'false',
      class: 'search',
    })
    return { input, element: h('label', { class: 'stacked', for: name }, t(word), input) }
  }
  const ak = field('ak', 'ak', 'text', 'username')
  const sk = field('sk', 'sk', 'password', 'current-password')
  const said = h('p', { class: 'hint failed', role: 'alert', hidden: true })
  const form = h(
    'form',
    { class: 'card sign-in' },
    h('h1', { class: 'title' }, t('signIn')),
    h('p', { class: 'muted' }, t('signInHint')),
    ak.element,
    sk.element,
    said,
    h('button', { type: 'submit', class: 'button main' }, t('signIn')),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    signIn(ak.input.value.trim(), sk.input.value.trim()).then(onSignedIn, (error: Error) => {
      said.hidden = false
      said.textContent = error.message
      sk.input.focus()
    })
  })
  return h('main', { id: 'main' }, form)
}

export function accountView(me: Me): HTMLElement {
  return h(
    'main',
    { id: 'main' },
    h('h1', { class: 'title' }, `${t('account')}: ${me.name}`),
    me.admin ? h('p', { class: 'muted' }, t('admin')) : undefined,
    h('div', { class: 'stack' }, keysCard(me), groupsCard(me)),
  )
}

function keysCard({ ak }: Me): HTMLElement {
  const shown = h('dl', { class: 'facts-list' }, h('dt', {}, t('ak')), h('dd', {}, h('code', {}, ak)))
  const said = h('p', { class: 'hint', role: 'status', hidden: true })
  const onRotate = async () => {
    const keys = await rotateKeys()
    put(
      shown,
      ...[h('dt', {}, t('ak')), h('dd', {}, h('code', {}, keys.ak))],
      ...[h('dt', {}, t('sk')), h('dd', {}, h('code', { id: 'new-sk' }, keys.sk))],
    )
    said.textContent = t('rotated')
    said.hidden = false
  }
  return h(
    'section',
    { class: 'card padded' },
    h('header', {}, h('h3', {}, `${t('ak')}, ${t('sk')}`)),
    shown,
    said,
    h('p', { class: 'muted' }, t('rotateHint')),
    sureButton(t('rotate'), onRotate),
  )
}

/** Asks once more before it does what cannot be taken back. */
export function sureButton(label: string, act: () => Promise<unknown>): HTMLElement {
  const button = h('button', { type: 'button', class: 'button' }, label)
  let isSure = false
  button.addEventListener('click', () => {
    if (!isSure) {
      isSure = true
      button.textContent = t('sure')
      return
    }
    isSure = false
    button.textContent = label
    button.setAttribute('disabled', '')
    act()
      .catch((error: Error) => put(button, error.message))
      .finally(() => button.removeAttribute('disabled'))
  })
  button.addEventListener('blur', () => {
    if (!isSure) return
    isSure = false
    button.textContent = label
  })
  return button
}

function groupsCard({ groups }: Me): HTMLElement {
  const head = (word: Word, isNumber = false) => h('th', { scope: 'col', class: isNumber ? 'number' : '' }, t(word))
  return h(
    'section',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('groups') },
    h('header', {}, h('h3', {}, t('groups'))),
    h(
      'table',
      {},
      h('thead', {}, h('tr', {}, head('theGroup'), head('quota', true), head('priorities'), head('queue'))),
      h(
        'tbody',
        {},
        ...groups.map(({ name, quota, held, priorities, queue, waiting }) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, name),
            h('td', { class: 'number' }, `${held} / ${quota}`),
            h('td', {}, priorities.join(', ')),
            h(
              'td',
              {},
              t('waits', { count: waiting }),
              ...queue.map(({ jobId, name: job, place }) =>
                h('span', {}, ' · ', `${place}. `, h('a', { href: linkToJob(jobId) }, job)),
              ),
            ),
          ),
        ),
      ),
    ),
  )
}
