/** @file Days as YYYYMMDD and the splits of a day as HHMM: how folders of logs are named. Without time zones: a day is a name. */

const DAY_MS = 24 * 60 * 60 * 1000
export const MINUTES_A_DAY = 24 * 60

/** The time at which a day begins, were it one of UTC; undefined: there is no such day. */
function timeOf(day: string): number | undefined {
  const [, year, month, date] = /^(\d{4})(\d\d)(\d\d)$/.exec(day) ?? []
  if (year === undefined) return undefined
  const time = Date.UTC(Number(year), Number(month) - 1, Number(date))
  return dayOf(time) === day ? time : undefined
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10).replaceAll('-', '')
}

/** Whether the calendar has it. */
export const isDay = (day: string): boolean => timeOf(day) !== undefined

/** `count` days after `day`; `count` may be negative. */
export function dayAfter(day: string, count: number): string {
  const time = timeOf(day)
  if (time === undefined) throw new Error(`internal: ${day} is not a day`)
  return dayOf(time + count * DAY_MS)
}

/** Days from `first` to `last`: 0 of the same day. */
export function daysBetween(first: string, last: string): number {
  return Math.round((timeOf(last)! - timeOf(first)!) / DAY_MS)
}

/** Names of a day's splits of so many minutes, from 0000 on; what is left of the day is no split. */
export function splitsOfDay(minutes: number): readonly string[] {
  const two = (value: number) => String(value).padStart(2, '0')
  return Array.from({ length: Math.floor(MINUTES_A_DAY / minutes) }, (_, i) => {
    const at = i * minutes
    return `${two(Math.floor(at / 60))}${two(at % 60)}`
  })
}
