/** @file PaddleRec 1.x's table of settings. */
import type { EventOf } from './event.ts'
import { pythonText } from './python-text.ts'

const [KEY, GAP, VALUE] = [45, 5, 50] as const

/** Keys and values between rules; of a long value the end is shown, since paths differ there. */
export function tableLines({ title, values }: Pick<EventOf<'table'>, 'title' | 'values'>): readonly string[] {
  const key = Math.max(KEY, ...Object.keys(values).map(({ length }) => length))
  const width = key + GAP + VALUE
  const gap = ' '.repeat(GAP)
  const rows = Object.entries(values).map(([name, value]) => `${name.padEnd(key)}${gap}${cut(value).padEnd(VALUE)}`)
  return [
    '',
    '='.repeat(width),
    `${centred(title, key)}${gap}${'Value'.padEnd(VALUE)}`,
    '-'.repeat(width),
    ...rows,
  ].concat(['='.repeat(width), ''])
}

function cut(value: unknown): string {
  const text = pythonText(value)
  return typeof value === 'string' && text.length >= VALUE ? `... ${text.slice(4 - VALUE)}` : text
}

function centred(text: string, width: number): string {
  return text.padStart(text.length + Math.floor((width - text.length) / 2)).padEnd(width)
}
