/** @file A followed model behind HTTP: two pools of threads in turn, of which one serves and the other takes up the next version. */
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { EventSink } from '../../base/event/index.ts'
import { isRemotePath } from '../../base/fs/index.ts'
import { FOLLOWERS_FOLDER, type FollowerNote, openFollowerNote } from '../../base/runs/index.ts'
import type { Batcher } from './batcher.ts'
import { Follower } from './follow.ts'
import type { ScorerSettings } from './messages.ts'
import type { Metrics } from './metrics.ts'
import type { ScorerPool } from './pool.ts'

export interface FollowedOptions {
  readonly root: string
  readonly at: string | undefined
  readonly emit: EventSink
  readonly open: (model: ScorerSettings['model']) => Promise<ScorerPool>
  readonly pollMs: number
  /** Where it is noted how far this server is. @default `followers` in the followed folder, where that is one of this host */
  readonly noteIn?: string | undefined
}

/** Resolves when the first version can be served. */
export async function openFollowed({ root, at, emit, open, pollMs, noteIn }: FollowedOptions) {
  const pools = new TwoPools(open)
  const follower = new Follower({ root, at, emit, load: (model) => pools.load(model), show: () => pools.show() })
  try {
    await follower.start()
  } catch (error) {
    await pools.close()
    throw error
  }
  return {
    pool: pools.serving,
    name: `version ${follower.state.version} of ${root}`,
    follower,
    watch: (batcher: Batcher, metrics: Metrics, port: number) => {
      pools.onShow = (pool) => void batcher.swap(pool)
      const folder = noteIn ?? (isRemotePath(root) ? undefined : join(root, FOLLOWERS_FOLDER))
      const note = folder === undefined ? undefined : openFollowerNote(folder, `${hostname()}:${port}`)
      return watchVersions(follower, metrics, pollMs, note)
    },
    close: () => pools.close(),
  }
}

/** Threads are kept: to start them would take longer than a delta. */
class TwoPools {
  readonly #open: FollowedOptions['open']
  #serving: ScorerPool | undefined
  #other: ScorerPool | undefined
  onShow: (pool: ScorerPool) => void = () => undefined

  constructor(open: FollowedOptions['open']) {
    this.#open = open
  }

  get serving(): ScorerPool {
    return this.#serving!
  }

  async load(model: ScorerSettings['model']) {
    if (this.#other) return await this.#other.reload(model)
    this.#other = await this.#open(model)
    return this.#other.loaded
  }

  show(): void {
    const shown = this.#other!
    this.#other = this.#serving
    this.#serving = shown
    this.onShow(shown)
  }

  async close(): Promise<void> {
    await Promise.all([this.#serving?.close(), this.#other?.close()])
  }
}

function watchVersions(
  follower: Follower,
  metrics: Metrics,
  intervalMs: number,
  note: FollowerNote | undefined,
): () => Promise<void> {
  const sequence = metrics.gauge('oarfish_version_sequence', 'Sequence number of the version that is served.')
  const lag = metrics.gauge(
    'oarfish_version_lag_seconds',
    'Seconds since the oldest version was published that is not served yet.',
  )
  const rows = metrics.gauge('oarfish_version_rows_applied', 'Rows of all deltas that were applied.')
  const dense = metrics.gauge(
    'oarfish_version_dense_number',
    'Number of the dense weights published behind the version that are served; 0: its own.',
  )
  const waiting = metrics.gauge('oarfish_version_waiting', '1 while a gap or a damaged version is waited at.')
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> = Promise.resolve()
  const look = async () => {
    await follower.look().catch(() => undefined)
    const { state } = follower
    sequence(state.sequence)
    lag(state.lagSeconds)
    rows(state.rowsApplied)
    dense(state.dense ?? 0)
    waiting(state.waiting === null ? 0 : 1)
    const { id: _, dense: __, ...shown } = state
    note?.note({ ...shown, taken: follower.taken })
  }
  const plan = () => {
    if (stopped) return
    timer = setTimeout(() => {
      looking = look().finally(plan)
    }, intervalMs).unref()
  }
  looking = look().finally(plan)
  return async () => {
    stopped = true
    clearTimeout(timer)
    await looking
    note?.close()
  }
}
