/** @file Entry policies: Paddle's three, as they are written and as the kernel takes them. */
import type { Admission } from '../../base/kernel/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { EntryPolicy } from '../../graph/program/index.ts'

/** Each time a batch shows a sign without a row it gets one with this chance. */
export function probabilityEntry(probability: number): EntryPolicy {
  if (!(probability > 0 && probability < 1)) throw invalid('probability must be a float in (0,1)', probability)
  return { kind: 'probability', probability }
}

/** A sign gets a row when the `count`-th batch shows it. */
export function countFilterEntry(count: number): EntryPolicy {
  if (!Number.isSafeInteger(count) || count < 0)
    throw invalid('count_filter must be a valid integer greater or equal than 0', count)
  return { kind: 'count_filter', count }
}

/** Show and click of a sample are the values of these dense slots. */
export function showClickEntry(show: string, click: string): EntryPolicy {
  if (typeof show !== 'string' || typeof click !== 'string')
    throw invalid('show_name click_name must be a str', `${show}, ${click}`)
  return { kind: 'show_click', show, click }
}

export function parseEntry(text: string): EntryPolicy {
  const [kind, first = '', second = ''] = text.split(':')
  if (kind === 'count_filter_entry') return countFilterEntry(Number(first))
  if (kind === 'probability_entry') return probabilityEntry(Number(first))
  if (kind === 'show_click_entry') return showClickEntry(first, second)
  throw invalid(
    'an entry is count_filter_entry:N, probability_entry:P or show_click_entry:SHOW:CLICK',
    JSON.stringify(text),
  )
}

/** What the kernel asks of a sign; undefined: nothing. */
export function admissionOf(entry: EntryPolicy | undefined): Admission | undefined {
  if (entry?.kind === 'count_filter') return { kind: 'count', count: entry.count }
  return entry?.kind === 'probability' ? { kind: 'probability', probability: entry.probability } : undefined
}

function invalid(rule: string, found: unknown): UserError {
  return new UserError(`${rule}, but got ${String(found)}`, {
    code: 'TABLE_ENTRY',
    hint: 'see docs/reference/accessors.md for the three entry policies',
  })
}
