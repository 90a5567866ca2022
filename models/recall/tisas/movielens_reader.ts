/**
 * @file Reads lines `user item rating time` (or without the rating) with tabs between, those of a user together. The last item of a user is left for the
 * test and the one before it for validation: training sees the others, and what is evaluated is the last, beside items drawn at random.
 */
import { BaseRecDataset, createRng, hashText, type Rng, type Sample, shuffled } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly maxlen?: number; num_items?: number; neg_num?: number; time_span?: number }
}
interface Taken {
  readonly item: number
  readonly time: number
}

/** Users that are in memory at a time, to be given in another order in each epoch. */
const WINDOW = 100_000

/** To evaluate, config.yaml names movielens_infer_reader.ts, which sets this. */
export class RecDataset extends BaseRecDataset<Config> {
  protected readonly evaluates: boolean = false

  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const random = createRng(BigInt(this.pass.seed))
    let window: Taken[][] = []
    for await (const { user, taken } of this.#users()) {
      if (taken.length < (this.evaluates ? 2 : 4)) continue
      // Others are drawn anew in each epoch of training; an evaluation has the same for a user in every run.
      if (this.evaluates) yield this.#sample(taken, taken, createRng(hashText(user)))
      else window.push(taken)
      if (window.length < WINDOW) continue
      yield* this.#mixed(window, random)
      window = []
    }
    yield* this.#mixed(window, random)
  }

  *#mixed(users: Taken[][], random: Rng): Generator<Sample> {
    for (const taken of shuffled(users, random)) yield this.#sample(taken, taken.slice(0, -2), random)
  }

  async *#users(): AsyncGenerator<{ user: string; taken: Taken[] }> {
    const { num_items = 3416 } = this.config.hyper_parameters
    let [last, taken]: [string | undefined, Taken[]] = [undefined, []]
    for await (const line of this.lines()) {
      const columns = line.trim().split('\t')
      if (columns.length < 3) throw new Error(`expected user, item, rating and time with tabs between, found "${line}"`)
      const [user, item, time] = [columns[0]!, Number(columns[1]), Number(columns.at(-1))]
      if (!(Number.isInteger(item) && item >= 1 && item <= num_items))
        throw new Error(`item ${columns[1]} is not between 1 and hyper_parameters.num_items, ${num_items}`)
      if (last !== undefined && user !== last) {
        yield { user: last, taken: inOrder(taken) }
        taken = []
      }
      last = user
      taken.push({ item, time })
    }
    if (last !== undefined) yield { user: last, taken: inOrder(taken) }
  }

  #sample(all: readonly Taken[], seen: readonly Taken[], random: Rng): Sample {
    const { maxlen = 50, num_items = 3416, neg_num = 100, time_span = 256 } = this.config.hyper_parameters
    const read = this.latest(seen.slice(0, -1), maxlen)
    const times = scaled(all, read, time_span)
    const known = new Set(all.map(({ item }) => item))
    const other = Array.from({ length: this.evaluates ? neg_num : read.length }, () => {
      let item = 1 + random.below(num_items)
      while (known.has(item) && known.size < num_items) item = 1 + random.below(num_items)
      return item
    })
    const history = read.map(({ item }) => item)
    const next = seen
      .slice(1)
      .map(({ item }) => item)
      .slice(-maxlen)
    return { history, time: [...times, ...new Array(maxlen - times.length).fill(0)], next, other }
  }
}

function inOrder(taken: readonly Taken[]): Taken[] {
  return [...taken].sort((a, b) => a.time - b.time)
}

/** Times in units of the user's shortest interval. A gap is no longer than `most`, which keeps every number small and no interval below `most` from being right. */
function scaled(all: readonly Taken[], read: readonly Taken[], most: number): number[] {
  const gaps = (taken: readonly Taken[]) => taken.slice(1).map(({ time }, i) => time - taken[i]!.time)
  const unit = Math.min(...gaps(all).filter((gap) => gap > 0))
  let at = 1
  return [at, ...gaps(read).map((gap) => (at += gap > 0 ? Math.min(Math.round(gap / unit), most) : 0))]
}
