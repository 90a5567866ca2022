/** @file Buttons that save what is seen: a table as CSV, a picture as PNG. */
import { h } from './dom.ts'
import { saveCsv, savePicture } from './save-file.ts'
import { t } from './words.ts'

interface Seen {
  readonly table?: HTMLTableElement | undefined
  readonly picture?: SVGElement | undefined
}

export function saveTools(title: string, { table, picture }: Seen): HTMLElement {
  return h(
    'span',
    { class: 'tools' },
    table && saveButton(t('csv'), t('saveCsv', { name: title }), () => saveCsv(title, rowsOf(table))),
    picture && saveButton(t('png'), t('savePng', { name: title }), () => void savePicture(title, picture)),
  )
}

export const saveButton = (label: string, name: string, onclick: () => void) =>
  h('button', { type: 'button', class: 'small', 'aria-label': name, onclick }, label)

const rowsOf = (table: HTMLTableElement) =>
  [...table.rows].map((row) => [...row.cells].map((cell) => (cell.textContent ?? '').trim()))
