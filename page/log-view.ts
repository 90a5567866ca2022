/** @file The end of a process's log, searched as one types, and followed while its end is in sight. */
import type { LogLines } from '../src/jobs/dashboard/api.ts'
import { h, put } from './dom.ts'
import { route, setParams } from './route.ts'
import { number } from './text.ts'
import { t } from './words.ts'

const WAIT_MS = 200
const NEAR = 40 // pixels

export interface LogView {
  readonly element: HTMLElement
  refresh(): void
}

type AskLog = (name: string, query: Readonly<Record<string, string>>) => Promise<LogLines | undefined>

export function logView(names: readonly string[], ask: AskLog): LogView {
  const { params } = route()
  if (names.length === 0) return { element: h('p', { class: 'muted' }, t('noLog')), refresh: () => undefined }
  const select = h(
    'select',
    { 'aria-label': t('role') },
    ...names.map((name) => h('option', { value: name, selected: name === params.get('process') }, name)),
  )
  const search = h('input', {
    type: 'search',
    class: 'search',
    'aria-label': t('search'),
    placeholder: t('search'),
    value: params.get('find') ?? '',
  })
  const count = h('span', { class: 'muted', role: 'status' })
  const lines = h('pre', { class: 'log', tabindex: 0, 'aria-label': t('logs') })
  let asked = 0
  const load = async () => {
    const own = ++asked
    const found = await ask(select.value, { q: search.value, lines: '500' })
    if (own !== asked) return
    if (!found) return put(lines, t('noLog'))
    const isAtEnd = lines.scrollTop + lines.clientHeight >= lines.scrollHeight - NEAR
    const before = lines.scrollTop
    count.textContent = [
      t('logCount', {
        shown: number(found.lines.length),
        matching: number(found.matching),
        total: number(found.total),
      }),
      found.isCut ? t('logCut') : '',
    ].join(' ')
    put(lines, ...found.lines.map(({ number: line, text }) => h('span', {}, h('i', {}, String(line)), `${text}\n`)))
    lines.scrollTop = isAtEnd ? lines.scrollHeight : before
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  search.addEventListener('input', () => {
    setParams({ find: search.value })
    clearTimeout(timer)
    timer = setTimeout(() => void load(), WAIT_MS)
  })
  select.addEventListener('change', () => {
    setParams({ process: select.value })
    void load()
  })
  void load()
  const element = h('div', {}, h('div', { class: 'toolbar' }, select, search, count), lines)
  return { element, refresh: () => void load() }
}
