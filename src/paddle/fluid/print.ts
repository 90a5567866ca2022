/** @file What runs print, as fluid prints it. */
import type { EventSink } from '../../base/event/index.ts'

/** Notices and warnings, on standard error: they do not mix with what a program prints. */
export function fluidSink(write: (text: string) => void = (text) => process.stderr.write(text)): EventSink {
  return (event) => {
    if (event.kind === 'notice') write(`${event.message}\n`)
    if (event.kind === 'warning') write(`WARNING: ${event.message}\n`)
  }
}

/** `time: [2026-01-31 08:05:09], batch: [100], auc[1]:[0.5]` */
export function periodLine(
  batch: number,
  values: readonly (readonly [info: string, value: number])[],
  now: Date,
): string {
  const shown = values.map(([info, value]) => `${info}[1]:[${Number(value.toPrecision(6))}]`)
  return [`time: [${timeText(now)}]`, `batch: [${batch}]`, ...shown].join(', ')
}

function timeText(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`
}
