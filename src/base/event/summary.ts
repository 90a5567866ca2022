/** @file The end of a run over several epochs: a table of what each measured, the best one marked. */
import type { EventOf } from './event.ts'
import { metricText } from './text.ts'

/** As wide as any terminal; a table that is wider is two, of training and of test data. */
const COLUMNS = 80

/** No lines where there was nothing to compare. */
export function summaryLines(done: EventOf<'done'>): string[] {
  const { epochs = [] } = done
  if (epochs.filter(({ test }) => test).length < 2) return []
  const whole = tableOf(done, ['train', 'test'])
  if (whole.every(({ length }) => length <= COLUMNS)) return whole
  return [...tableOf(done, ['train']), '', ...tableOf(done, ['test'])]
}

type Data = 'train' | 'test'

/** Where it is of one kind of data alone, that stands at its head once. */
function tableOf({ epochs = [], best }: EventOf<'done'>, parts: readonly Data[]): string[] {
  const names = [...new Set(epochs.flatMap(({ test = {} }) => Object.keys(test)))]
  const title = (part: Data, name: string) => (parts.length > 1 ? `${part} ${name}` : name)
  const titles = parts.flatMap((part) => names.map((name) => title(part, name)))
  const head = [(parts.length > 1 ? 'epoch' : parts[0]!).padEnd('epoch'.length), ...titles, '']
  const rows = epochs.map(({ epoch, ...measured }) => {
    const values = parts.flatMap((part) => names.map((name) => measured[part]?.[name]))
    const mark = best?.epoch === epoch ? `best ${best.metric}` : ''
    return [String(epoch), ...values.map((value) => (value === undefined ? '-' : metricText(value))), mark]
  })
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]!.length)))
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
