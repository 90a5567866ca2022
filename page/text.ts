/** @file Numbers and times as people read them. */
import { languageTag, t } from './words.ts'

/** Four digits that matter: 0.7041, 12.35, 1,204, 1.2M. */
export function number(value: number | undefined | null): string {
  if (value === undefined || value === null || Number.isNaN(value)) return ''
  const size = Math.abs(value)
  if (size >= 1e6) return `${(value / 1e6).toPrecision(3)}M`
  if (size >= 1000 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US')
  return size >= 1e-3 || size === 0 ? String(Number(value.toPrecision(4))) : value.toExponential(2)
}

/** A metric with digits that do not jump. */
export const metric = (value: number | undefined) =>
  value === undefined || !Number.isFinite(value) ? '' : Math.abs(value) < 100 ? value.toFixed(4) : number(value)

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return t('seconds', { seconds })
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return t('minutes', { minutes })
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? t('hours', { hours, minutes: minutes % 60 }) : t('days', { days: Math.floor(hours / 24) })
}

export function bytes(value: number | undefined): string {
  if (value === undefined) return ''
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3))
  return `${Number((value / 1000 ** power).toPrecision(3))} ${units[power]}`
}

/** A place on an axis of time whose places are `step` seconds apart. */
export function timeText(seconds: number, step: number): string {
  const day = 24 * 3600
  const parts: Intl.DateTimeFormatOptions =
    step >= day ? { month: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
  const more: Intl.DateTimeFormatOptions = step < 60 ? { second: '2-digit' } : {}
  return new Date(seconds * 1000).toLocaleString(languageTag(), { ...parts, ...more })
}

export const when = (ms: number, tag: string) =>
  new Date(ms).toLocaleString(tag, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' })

export const setting = (value: unknown) =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)

/** `learning_rate` of `hyper_parameters.optimizer.learning_rate`. */
export const shortKey = (key: string) => key.split('.').at(-1)!

/** A loss is good when it is small. */
export const isSmallBetter = (name: string) => /loss|error|rmse|mae|^mse$/i.test(name)
