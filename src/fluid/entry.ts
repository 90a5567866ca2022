/** @file Entry policies: which ids of a sparse embedding get a row. */
import { UserError } from '../util/index.ts'

export type Entry =
  | { readonly kind: 'probability_entry'; readonly probability: number }
  | { readonly kind: 'count_filter_entry'; readonly count: number }
  | { readonly kind: 'show_click_entry'; readonly show: string; readonly click: string }

export const ProbabilityEntry = (probability: number): Entry => {
  if (!(probability > 0 && probability < 1)) throw bad('probability must be a float in (0,1)', 'ProbabilityEntry(0.1)')
  return { kind: 'probability_entry', probability }
}

export const CountFilterEntry = (count: number): Entry => {
  if (!Number.isInteger(count) || count < 0)
    throw bad('count_filter must be a valid integer greater or equal than 0', 'CountFilterEntry(10)')
  return { kind: 'count_filter_entry', count }
}

export const ShowClickEntry = (show: string, click: string): Entry => {
  if (typeof show !== 'string' || typeof click !== 'string')
    throw bad('show_name click_name must be a str', "ShowClickEntry('show', 'click')")
  return { kind: 'show_click_entry', show, click }
}

/** As tables are told it: `count_filter_entry:10`. */
export function entryText(entry: Entry): string {
  if (entry.kind === 'probability_entry') return `${entry.kind}:${entry.probability}`
  if (entry.kind === 'count_filter_entry') return `${entry.kind}:${entry.count}`
  return `${entry.kind}:${entry.show}:${entry.click}`
}

function bad(message: string, hint: string): UserError {
  return new UserError(message, { code: 'FLUID_ENTRY', hint })
}
