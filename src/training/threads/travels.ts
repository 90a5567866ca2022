/** @file What threads say beside their results: norms, steps of others between theirs, what has travelled; as an event has it. */
import type { EventOf, Link, Norms } from '../../base/event/index.ts'
import type { LinkCount } from '../../weights/params/index.ts'
import type { Stale } from './messages.ts'
import type { StepReport } from './trainer-pool.ts'

type Fields = Pick<EventOf<'batch'>, 'norms' | 'staleness' | 'links'>

/** Where the process's own counts stand among those of its threads. */
const OWN = -1

/** Of one phase; what threads count goes on from their beginning. */
export class Travels {
  step = 0
  readonly #links = new Map<number, readonly LinkCount[]>()
  readonly #stale = new Map<number, Stale>()
  #linksBefore: ReadonlyMap<string, LinkCount> | undefined
  #staleBefore: Stale = { behind: 0, steps: 0 }
  #norms: Norms | undefined

  add(thread: number, { result, links, stale }: Pick<StepReport, 'result' | 'links' | 'stale'>): void {
    this.step = Math.max(this.step, result.step ?? 0)
    if (result.norms) this.#norms = result.norms
    if (links) this.#links.set(thread, links)
    if (stale) this.#stale.set(thread, stale)
  }

  addOwn(links: readonly LinkCount[]): void {
    this.#links.set(
      OWN,
      links.map((link) => ({ ...link })),
    )
  }

  /** Since the last call, `seconds` ago. */
  fields(seconds: number): Fields {
    const links = this.#linkFields(seconds)
    const staleness = this.#staleness()
    return {
      ...(this.#norms ? { norms: this.#norms } : {}),
      ...(staleness === undefined ? {} : { staleness }),
      ...(links.length > 0 ? { links } : {}),
    }
  }

  #staleness(): number | undefined {
    const now = { behind: 0, steps: 0 }
    for (const { behind, steps } of this.#stale.values()) {
      now.behind += behind
      now.steps += steps
    }
    const { behind, steps } = this.#staleBefore
    if (now.steps <= steps) return undefined
    this.#staleBefore = now
    return (now.behind - behind) / (now.steps - steps)
  }

  #linkFields(seconds: number): Link[] {
    const now = new Map<string, LinkCount>()
    for (const link of [...this.#links.values()].flat()) {
      const sum = now.get(link.to)
      now.set(link.to, sum ? added(sum, link, 1) : link)
    }
    const before = this.#linksBefore
    this.#linksBefore = now
    // What was counted before the phase is none of it.
    if (!before) return []
    const threads = Math.max(1, [...this.#links.keys()].filter((thread) => thread !== OWN).length)
    return [...now.values()].map((link) => {
      const earlier = before.get(link.to)
      const { to, sentBytes, receivedBytes, calls, seconds: spent } = earlier ? added(link, earlier, -1) : link
      return {
        to,
        sentBytesPerSecond: sentBytes / seconds,
        receivedBytesPerSecond: receivedBytes / seconds,
        answerSeconds: calls > 0 ? spent / calls : 0,
        busy: spent / seconds / threads,
      }
    })
  }
}

const added = (a: LinkCount, b: LinkCount, sign: 1 | -1): LinkCount => ({
  to: a.to,
  sentBytes: a.sentBytes + sign * b.sentBytes,
  receivedBytes: a.receivedBytes + sign * b.receivedBytes,
  calls: a.calls + sign * b.calls,
  seconds: a.seconds + sign * b.seconds,
})
