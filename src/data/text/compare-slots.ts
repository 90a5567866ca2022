/** @file What a model declares beside what the first lines of its data have. */
import type { TextFormat } from '../../base/kernel/index.ts'
import { suggest, UserError, type Where } from '../../base/util/index.ts'
import type { Slot } from '../batch.ts'
import { type DataHead, namedAsData } from './head.ts'

/** One thing that model and data have in different number. */
export interface Disagreement {
  readonly declared: number
  readonly found: number
  readonly message: string
  /** Where the data has it. */
  readonly where: Where
  /** False where the data can be read all the same: slot text may leave slots out, and have slots that nobody asked for. */
  readonly certain: boolean
  readonly hint?: string | undefined
}

/** A line that reads as the model declares it ends the doubt: others like it are bad lines, which the reader reports. */
export function compareSlots(slots: readonly Slot[], head: DataHead, format: TextFormat): Disagreement[] {
  return format === 'slot' ? compareByName(slots, head) : compareByPlace(slots, head)
}

function compareByName(declaredSlots: readonly Slot[], head: DataHead): Disagreement[] {
  const slots = namedAsData(declaredSlots, head)
  const counts = head.lines.map(({ text }) => countByName(text))
  const dense = slots.filter((slot) => slot.kind === 'dense')
  const widths = dense.flatMap(({ name, width }): Disagreement[] => {
    const at = counts.findIndex((line) => line.has(name))
    if (at < 0 || counts.some((line) => line.get(name) === width)) return []
    return [wrongWidth(name, width, counts[at]!.get(name)!, { file: head.file, line: head.lines[at]!.number })]
  })
  const sparse = slots.filter((slot) => slot.kind === 'sparse').map(({ name }) => name)
  const declared = new Set(slots.map(({ name }) => name))
  const inData = new Set(counts.flatMap((line) => [...line.keys()]))
  const missing = sparse.filter((name) => !inData.has(name))
  const extra = [...inData].filter((name) => !declared.has(name))
  const absent = slots.filter(({ name, required }) => required !== false && !inData.has(name))
  if (missing.length + extra.length + absent.length === 0) return widths
  const found = sparse.length - missing.length + extra.length
  const details = [
    ...(missing.length > 0 ? [`${listed(missing)} in none of its first ${head.lines.length} lines`] : []),
    ...(extra.length > 0 ? [`${listed(extra)} not declared`] : []),
  ]
  const message = `the model declares ${sparse.length} sparse slots, the data has ${found} (${details.join('; ')})`
  const counted = { declared: sparse.length, found, message, where: { file: head.file }, certain: false }
  return [...widths, ...(missing.length + extra.length > 0 ? [counted] : []), ...neverThere(absent, extra, head)]
}

/** A mistyped name would train on zeros without a word. */
function neverThere(absent: readonly Slot[], extra: readonly string[], { file, lines }: DataHead): Disagreement[] {
  return absent.slice(0, 1).map(({ name }) => ({
    declared: 1,
    found: 0,
    ...absentSlot(name, extra, `none of the first ${lines.length} lines`),
    where: { file },
    certain: true,
  }))
}

/** What is said of a slot that no sample has; `others`: what the data has and no slot is named. */
export function absentSlot(name: string, others: readonly string[], where: string): { message: string; hint: string } {
  const guess = suggest(name, others)
  const has = others.length > 0 ? `; not declared, but there: ${quoted(others)}` : ''
  return {
    message: `the model declares "${name}", which ${where} has${has}`,
    hint: `${guess === undefined ? '' : `Did you mean "${guess}"? `}An input that data may lack is declared with { required: false }.`,
  }
}

/** Refuses slot text in whose first lines is nothing of what is needed: what comes of padding alone looks like any other number. */
export function refuseStrangers(declared: readonly Slot[], head: DataHead): void {
  const needed = namedAsData(declared, head).filter(({ required }) => required !== false)
  const inData = [...new Set(head.lines.flatMap(({ text }) => [...countByName(text).keys()]))]
  const [first] = needed
  if (!first || inData.length === 0 || needed.some(({ name }) => inData.includes(name))) return
  const names = quoted(needed.map(({ name }) => name))
  const guess = suggest(first.name, inData)
  throw new UserError(
    `none of the first ${countedLines(head)} has any of the model's slots: ${names}; there are ${quoted(inData)}`,
    {
      code: 'MODEL_DATA',
      where: { file: head.file },
      hint:
        guess === undefined
          ? 'Give it text with the slots of the model.'
          : `Did you mean "${first.name}" by "${guess}"?`,
    },
  )
}

function compareByPlace(slots: readonly Slot[], { file, lines }: DataHead): Disagreement[] {
  const wrong = lines.flatMap(({ number, text }) => {
    const counts = countByPlace(text)
    return counts ? [compareLine(slots, counts, { file, line: number })] : []
  })
  return wrong.some((found) => found.length === 0) ? [] : (wrong[0] ?? [])
}

function compareLine(slots: readonly Slot[], counts: readonly number[], where: Where): Disagreement[] {
  if (counts.length !== slots.length) {
    const message = `the model declares ${slots.length} slots (the label among them), a line of the data has ${counts.length}`
    return [{ declared: slots.length, found: counts.length, message, where, certain: true }]
  }
  return slots.flatMap((slot, i) =>
    slot.kind === 'dense' && counts[i] !== slot.width ? [wrongWidth(slot.name, slot.width, counts[i]!, where)] : [],
  )
}

function wrongWidth(name: string, declared: number, found: number, where: Where): Disagreement {
  const message = `the model declares slot "${name}" with ${valuesOf(declared)}, the data has ${found}`
  return { declared, found, message, where, certain: true }
}

/** Values per slot of a line of slot text; what is not slot:value is the reader's business. */
function countByName(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of text.trim().split(/\s+/)) {
    const colon = item.indexOf(':')
    if (colon <= 0) continue
    const name = item.slice(0, colon)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

/** Values per place of a line of MultiSlot text; undefined where its counts do not lead to its end. */
function countByPlace(text: string): number[] | undefined {
  const items = text.trim().split(/\s+/)
  const counts: number[] = []
  for (let at = 0; at < items.length; ) {
    const count = Number(items[at])
    if (!Number.isInteger(count) || count < 1 || at + count >= items.length) return undefined
    counts.push(count)
    at += 1 + count
  }
  return counts
}

const countedLines = ({ lines }: DataHead) => (lines.length === 1 ? '1 line' : `${lines.length} lines`)

const SHOWN = 4

function listed(names: readonly string[]): string {
  return `${quoted(names)} ${names.length === 1 ? 'is' : 'are'}`
}

function quoted(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).map((name) => `"${name}"`)
  return names.length > SHOWN ? `${shown.join(', ')} and ${names.length - SHOWN} more` : shown.join(', ')
}

function valuesOf(count: number): string {
  return count === 1 ? '1 value' : `${count} values`
}
