/** @file One line of CSV as cells (RFC 4180, but without line breaks inside quotes). */
import { UserError } from '../util/index.ts'

export function splitCsv(line: string, delimiter: string): string[] {
  if (!line.includes('"')) return line.split(delimiter)
  const cells: string[] = []
  for (let at = 0; at <= line.length; ) {
    if (line[at] !== '"') {
      const end = endOf(line, delimiter, at)
      cells.push(line.slice(at, end))
      at = end + delimiter.length
      continue
    }
    const close = closingQuote(line, at + 1)
    cells.push(line.slice(at + 1, close).replaceAll('""', '"'))
    at = endOf(line, delimiter, close + 1) + delimiter.length
  }
  return cells
}

function endOf(line: string, delimiter: string, from: number): number {
  const end = line.indexOf(delimiter, from)
  return end < 0 ? line.length : end
}

function closingQuote(line: string, from: number): number {
  for (let at = from; at < line.length; at++) {
    if (line[at] !== '"') continue
    if (line[at + 1] !== '"') return at
    at++
  }
  throw new UserError('A quote is not closed in its line; a cell must not hold a line break.', { code: 'DATA_CELL' })
}
