/** @file Events as JSON lines: what `--json` prints and other programs read. */
import type { EventSink } from './event.ts'

/** Writes one JSON line an event. A number that is not finite becomes null, a 64-bit integer a decimal string. */
export function jsonlSink(write: (text: string) => void): EventSink {
  return (event) => write(`${JSON.stringify(event, bigintsAsText)}\n`)
}

function bigintsAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
