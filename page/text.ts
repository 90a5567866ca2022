/** @file Numbers and times as people read them. */

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
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d`
}

export function bytes(value: number | undefined): string {
  if (value === undefined) return ''
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3))
  return `${Number((value / 1000 ** power).toPrecision(3))} ${units[power]}`
}

export const when = (ms: number, tag: string) =>
  new Date(ms).toLocaleString(tag, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' })

export const setting = (value: unknown) =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)

/** `learning_rate` of `hyper_parameters.optimizer.learning_rate`. */
export const shortKey = (key: string) => key.split('.').at(-1)!

/** A loss is good when it is small. */
export const isSmallBetter = (name: string) => /loss|error|rmse|mae|^mse$/i.test(name)
