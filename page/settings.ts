/** @file Settings of runs side by side; of several, what differs first. */
import { h } from './dom.ts'
import { saveTools } from './save-tools.ts'
import { setting } from './text.ts'
import { t } from './words.ts'

export interface Settings {
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly color?: string
  readonly link?: string
}

export function settingsTable(runs: readonly Settings[]): HTMLElement {
  const keys = [...new Set(runs.flatMap(({ settings }) => Object.keys(settings)))].sort()
  const rows = keys.map((key) => ({ key, values: runs.map(({ settings }) => setting(settings[key])) }))
  const differs = ({ values }: { readonly values: readonly string[] }) => new Set(values).size > 1
  const inOrder = [...rows.filter(differs), ...rows.filter((row) => !differs(row))]
  const dot = (color: string | undefined) =>
    color === undefined ? undefined : h('i', { class: 'dot', style: { background: color } })
  const heads = runs.map(({ name, color, link }) =>
    h('th', { scope: 'col' }, dot(color), link === undefined ? name : h('a', { href: link }, name)),
  )
  const row = (own: (typeof rows)[number]) =>
    h(
      'tr',
      { class: differs(own) ? 'differs' : '' },
      h('th', { scope: 'row' }, own.key),
      ...own.values.map((value) => h('td', {}, value)),
    )
  const table = h(
    'table',
    { class: 'settings' },
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('setting')), ...heads)),
    h('tbody', {}, ...inOrder.map(row)),
  )
  return h(
    'div',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('config') },
    h('header', {}, h('h3', {}, t('config')), saveTools(t('config'), { table })),
    table,
  )
}
