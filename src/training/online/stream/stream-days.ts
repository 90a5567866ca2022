/** @file Passes of a stream as days: each is of the day on which it was cut, and the last of a day ends it. */
import { dayAfter } from '../../../base/util/index.ts'
import type { Days, PassOfDay } from '../days.ts'
import type { StreamPass } from './pass-log.ts'

export class StreamDays implements Days {
  /** Those of the log, at the process that has it. */
  log: readonly StreamPass[] = []
  /** At the others: what they were told. */
  readonly #told = new Map<number, PassOfDay>()
  readonly #today: () => string
  readonly passes = Number.POSITIVE_INFINITY
  readonly epochs = Number.POSITIVE_INFINITY

  constructor(today: () => string) {
    this.#today = today
  }

  passAt(epoch: number): StreamPass | undefined {
    return this.log[epoch - (this.log[0]?.epoch ?? 0)]
  }

  tell(epoch: number, pass: PassOfDay): void {
    this.#told.set(epoch, pass)
    this.#told.delete(epoch - 2)
  }

  at(epoch: number): PassOfDay {
    const known = this.passAt(epoch)
    if (known) return { day: known.day, pass: known.pass, splits: [], isLast: known.isLast }
    return this.#told.get(epoch) ?? { ...this.next(), splits: [], isLast: false }
  }

  /** Day and number of the pass behind all that were cut. A clock that is set back does not bring a day back. */
  next(): { readonly day: string; readonly pass: number } {
    const last = this.log.at(-1)
    const today = this.#today()
    if (!last) return { day: today, pass: 1 }
    if (!last.isLast) return { day: last.day, pass: last.pass + 1 }
    const after = dayAfter(last.day, 1)
    return { day: today > after ? today : after, pass: 1 }
  }

  /** The day of the next pass is over, so that this is the last one of it. */
  get isDayOver(): boolean {
    return this.#today() > this.next().day
  }

  /** The first pass that is this one or a later one. */
  epochOf(day: string, pass: number): number {
    const found = this.log.findIndex((one) => one.day > day || (one.day === day && one.pass >= pass))
    return (this.log[0]?.epoch ?? 0) + (found < 0 ? this.log.length : found)
  }
}
