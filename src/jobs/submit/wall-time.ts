/** @file How long a job may take: `--mpi-wall-time 2000:00:00`, hours, minutes and seconds. Pure. */
import { UserError } from '../../base/util/index.ts'

export function wallSecondsOf(text: string): number {
  const [, hours, minutes, seconds] = /^(\d{1,6}):([0-5]?\d):([0-5]?\d)$/.exec(text.trim()) ?? []
  const all = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  if (all > 0) return all
  throw new UserError(`The wall time ${JSON.stringify(text)} cannot be read.`, {
    code: 'SUBMIT_FLAGS',
    hint: 'Write hours:minutes:seconds, such as 24:00:00; more than none.',
  })
}

export function wallTimeOf(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}
