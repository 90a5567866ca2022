/** @file What events hold, as people read it: counts, rates, durations, metric values, a process of a job. */
import { sizeText } from '../util/index.ts'
import type { EventOf } from './event.ts'

/** 400000 as `400,000`. */
export function countText(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** A rate in three significant digits: `950/s`, `76.9k/s`, `1.23M/s`. */
export function rateText(perSecond: number): string {
  const [divisor, unit] = perSecond >= 999_500 ? [1e6, 'M'] : perSecond >= 999.5 ? [1e3, 'k'] : [1, '']
  const scaled = perSecond / divisor
  const digits = unit === '' || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2
  return `${scaled.toFixed(digits)}${unit}/s`
}

/** Seconds as `0:07`, `12:30`, `3:05:00`. */
export function clockText(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds))
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const tail = `${hours > 0 ? String(minutes).padStart(2, '0') : minutes}:${String(rest).padStart(2, '0')}`
  return hours > 0 ? `${hours}:${tail}` : tail
}

/** A metric with a fixed number of digits after the point, so that it does not jump as it changes. */
export function metricText(value: number, digits = 4): string {
  return Math.abs(value) < 1e6 ? value.toFixed(digits) : String(value)
}

/** `auc by gender: 1 0.6512 (1,204 samples), 2 0.6433 (996 samples)`, a line a slot. */
export function sliceLines({ slices = {} }: Pick<EventOf<'epoch'>, 'slices'>): string[] {
  return Object.entries(slices).map(([name, values]) => {
    const texts = values.map(({ value, auc, samples, weighted }) => {
      const size = weighted ? `weight ${metricText(samples, 1)}` : `${countText(samples)} samples`
      return `${value} ${metricText(auc)} (${size})`
    })
    return `${name}: ${texts.join(', ')}`
  })
}

/** `worker 1 failed (pid 4711): exit code 3` */
export function processText({ role, rank, pid, state, endpoint, log, exit, host }: EventOf<'process'>): string {
  const name = `${host === undefined ? '' : `${host}: `}${role} ${rank}`
  if (state === 'running') return `${name} runs (pid ${pid})${endpoint ? ` on ${endpoint}` : ''}, output in ${log}`
  if (state === 'stopping') return `${name} is asked to stop (pid ${pid})`
  return `${name} ${state === 'done' ? 'is done' : state} (pid ${pid})${exit && state !== 'done' ? `: ${exit}` : ''}`
}

/** What passes will take, and by table. */
export function forecastLines({ passes, devices, samples, estimated, tables, ...sums }: EventOf<'forecast'>): string[] {
  const about = estimated ? 'about ' : ''
  const times = passes === 1 ? 'one pass' : `${passes} passes`
  const where = devices > 1 ? `on ${devices} devices` : 'on the device'
  const sizes = (own: { readonly deviceBytes: number; readonly memoryBytes: number }) =>
    `${sizeText(own.deviceBytes)} ${where}, ${sizeText(own.memoryBytes)} in memory`
  return [
    `Forecast: ${times} an epoch, ${about}${countText(samples)} samples; ${sizes(sums)}.`,
    ...tables.map((own) => `  table ${own.table}: ${about}${countText(own.rows)} rows in a pass, ${sizes(own)}`),
  ]
}

/** `pass 2 of 8 of epoch 0 ended: 41,230 rows, 1,204 new, 12.1 MB moved, waited 0.03 s for its preparation` */
export function passText({
  epoch,
  pass,
  passes,
  rows,
  newRows,
  bytesMoved,
  waitedSeconds,
}: EventOf<'passEnd'>): string {
  const which = passes === 1 ? `pass of epoch ${epoch}` : `pass ${pass + 1} of ${passes} of epoch ${epoch}`
  const counts = `${countText(rows)} rows, ${countText(newRows)} new, ${sizeText(bytesMoved)} moved`
  return `${which} ended: ${counts}, waited ${waitedSeconds.toFixed(2)} s for its preparation`
}

/** `table embedding: 20,000,000 rows, 3,100,210 of them in 498.2 MB of memory (limit 512.0 MB); 93.1 % of wanted rows were there, ...` */
export function rowsText(event: EventOf<'rows'>): string {
  const { table, rows, memoryRows, memoryBytes, limitBytes, diskRows, diskBytes, hitRate, misses, evicted, lost } =
    event
  const memory = `${countText(memoryRows)} of them in ${sizeText(memoryBytes)} of memory (limit ${sizeText(limitBytes)})`
  if (lost > 0 || diskRows + misses === 0) {
    const gone = `${countText(lost)} were given up in this pass, those wanted least`
    return `table ${table}: ${countText(rows)} rows, ${memory}; ${gone}`
  }
  const disk = `${countText(diskRows)} on the disk (${sizeText(diskBytes)})`
  const reads = `${(100 * hitRate).toFixed(1)} % of wanted rows were in memory, ${countText(misses)} were read, ${countText(evicted)} written`
  const bytes = `${sizeText(event.readBytesPerSample)} read and ${sizeText(event.writtenBytesPerSample)} written a sample`
  return `table ${table}: ${countText(rows)} rows, ${memory}, ${disk}; ${reads}; ${bytes}`
}
