/** @file Follows the versions of a trainer: base, then each delta in order; waits at a gap, takes the next base, stays where it was pinned. */
import type { EventSink } from '../../base/event/index.ts'
import type { TakenVersion } from '../../base/runs/index.ts'
import { formatUserError, isUserError } from '../../base/util/index.ts'
import type { LoadedExport } from '../export/index.ts'
import {
  brokenChain,
  chainOf,
  chosenVersion,
  layerRows,
  notPublished,
  openVersions,
  type Version,
  type VersionSource,
  versionName,
} from '../versions/index.ts'
import type { ScorerSettings } from './messages.ts'

/** What is served now, and what is missing. */
export interface FollowState {
  readonly version: string
  readonly sequence: number
  readonly id: string
  /** Number of the dense weights that were published behind it and are served; null: those of the version. */
  readonly dense: number | null
  /** Seconds since the oldest version was published that is not served yet; 0 where none is. */
  readonly lagSeconds: number
  /** Rows of all deltas so far. */
  readonly rowsApplied: number
  /** Where it stays, by --at or /admin/rollback. */
  readonly pinned: string | null
  /** Why it is not further. */
  readonly waiting: string | null
}

export interface FollowerOptions {
  readonly root: string
  readonly at?: string | undefined
  readonly emit: EventSink
  /** Opens a model beside the one that is served, which goes on meanwhile. */
  readonly load: (model: ScorerSettings['model']) => Promise<LoadedExport>
  /** What was loaded last is served from now on. */
  readonly show: () => void
}

const MOST_TAKEN = 500

export class Follower {
  readonly #options: FollowerOptions
  readonly #source: VersionSource
  #at: string | undefined
  #version: Version | undefined
  #loaded: LoadedExport | undefined
  #dense: number | null = null
  #unseen: readonly Version[] = []
  #rowsApplied = 0
  #waiting: string | null = null
  #taken: readonly TakenVersion[] = []
  /** One change of the version after the other. */
  #work: Promise<void> = Promise.resolve()

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#source = openVersions(options.root)
    this.#at = options.at
  }

  get state(): FollowState {
    const { sequence, id } = this.#version!
    const [oldest] = this.#unseen
    const lagSeconds = oldest ? Math.max(0, (Date.now() - Date.parse(oldest.publishedAt)) / 1000) : 0
    const place = { version: versionName(this.#version!), sequence, id, dense: this.#dense }
    return { ...place, lagSeconds, rowsApplied: this.#rowsApplied, pinned: this.#at ?? null, waiting: this.#waiting }
  }

  /** Versions that were taken up while they were followed, the newest last: not the first, which may be of yesterday, nor one that was asked for. */
  get taken(): readonly TakenVersion[] {
    return this.#taken
  }

  /** The first version; throws where there is none that is whole. */
  async start(): Promise<void> {
    const versions = await this.#source.versions()
    const wanted = chosenVersion(versions, this.#at)
    if (!wanted) throw notPublished(this.#options.root)
    const chain = this.#at === undefined ? newestChain(versions) : chainOf(versions, wanted)
    if (!chain) throw brokenChain(versionName(wanted), 'a version between it and its base is missing')
    await this.#load(chain, this.#at !== undefined).catch((error: unknown) => {
      if (!this.#version) throw error
      this.#wait(reasonOf(error))
    })
  }

  /** Looks for newer versions once. */
  look(): Promise<void> {
    return this.#next(() => this.#catchUp())
  }

  /** Serves this version (DAY/PASS) and stays there; undefined: the newest, and follows again. Throws where it is not there. */
  async pin(at: string | undefined): Promise<void> {
    await this.#next(async () => {
      const versions = await this.#source.versions()
      const wanted = chosenVersion(versions, at)
      const chain = wanted && chainOf(versions, wanted)
      if (!chain) throw brokenChain(at ?? 'that is newest', 'a version between it and its base is missing')
      if (wanted.id !== this.#version!.id || this.#dense !== null) await this.#load(chain, true)
      this.#at = at
      this.#waiting = null
    })
  }

  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => undefined)
    return done
  }

  async #catchUp(): Promise<void> {
    try {
      const versions = await this.#source.versions()
      const at = versions.findIndex(({ id }) => id === this.#version!.id)
      this.#unseen =
        at >= 0 ? versions.slice(at + 1) : versions.filter(({ sequence }) => sequence > this.#version!.sequence)
      if (this.#at !== undefined) return
      if (at < 0 && this.#unseen.length === 0) return this.#wait('its trainer goes on from an earlier version')
      const chain = at < 0 ? newestChain(versions) : this.#way(versions)
      if (chain && at < 0) await this.#load(chain, false)
      else if (chain && chain.length > 0) await this.#apply(chain).catch((error) => this.#leap(versions, error))
      await this.#takeDense()
      this.#wait(null)
    } catch (error) {
      this.#wait(reasonOf(error))
    }
  }

  /** The versions to go through from the one that is served: to the end, or to a gap, which a later base closes. */
  #way(versions: readonly Version[]): readonly Version[] {
    const way: Version[] = []
    for (let id = this.#version!.id; ; ) {
      const next = versions.find(({ follows }) => follows === id)
      if (!next || way.includes(next)) break
      way.push(next)
      id = next.id
    }
    const last = versions.at(-1)!
    if (way.length > 0 || last.id === this.#version!.id) return way
    const chain = this.#later(versions)
    if (chain) return chain
    throw brokenChain(
      versionName(this.#unseen[0]!),
      `no version follows ${versionName(this.#version!)}, which is served`,
    )
  }

  /** A base behind what is served, and what follows it. */
  #later(versions: readonly Version[]): readonly Version[] | undefined {
    return newestChain(versions.filter(({ sequence }) => sequence > this.#version!.sequence))
  }

  /** Over a version that cannot be had, to a base behind it. */
  async #leap(versions: readonly Version[], error: unknown): Promise<void> {
    const chain = this.#later(versions)
    if (!chain) throw error
    await this.#load(chain, false)
  }

  async #apply(way: readonly Version[]): Promise<void> {
    for (const [i, version] of way.entries()) {
      const isNext = version.follows === this.#version!.id
      if (version.kind === 'base') {
        // What it holds is what is served already; it is read when deltas have become much of it.
        const isSmall = layerRows(this.#loaded!) <= version.rows / 2
        if (isNext && isSmall) this.#adopt(version)
        else await this.#load([version], false)
      } else if (isNext) await this.#applyDelta(version)
      else throw brokenChain(versionName(version), `it does not follow ${versionName(way[i - 1] ?? this.#version!)}`)
    }
    await this.#source.forget([this.#version!])
  }

  async #applyDelta(version: Version): Promise<void> {
    const { load, show, emit } = this.#options
    const folder = await this.#source.folder(version)
    const expected = { id: version.id, follows: version.follows!, base: version.base }
    this.#loaded = await load({ kind: 'delta', loaded: this.#loaded!, folder, expected, version: versionName(version) })
    show()
    this.#rowsApplied += version.rows + version.gone
    this.#adopt(version)
    emit({
      kind: 'notice',
      message: `Serving ${versionName(version)}: ${version.rows} rows changed, ${version.gone} went.`,
    })
  }

  /** Weights that were published behind the version that is served; those over another one are not for its rows. */
  async #takeDense(): Promise<void> {
    const { load, show } = this.#options
    const dense = await this.#source.dense()
    if (!dense || dense.over !== this.#version!.id || dense.number === this.#dense) return
    const model = await this.#source.denseModel(dense)
    const version = `${versionName(this.#version!)}+${dense.number}`
    this.#loaded = await load({ kind: 'dense', loaded: this.#loaded!, model, steps: dense.steps, version })
    show()
    this.#dense = dense.number
  }

  /** A base and what follows it; where a delta cannot be had yet, and no version is asked for by name, what is whole is served. */
  async #load(chain: readonly Version[], isPinned: boolean): Promise<void> {
    const { load, show, emit } = this.#options
    const [base, ...deltas] = chain as [Version, ...Version[]]
    let loaded = await load({ kind: 'folder', folder: await this.#source.folder(base), version: versionName(base) })
    let last = base
    let failure: unknown
    for (const version of deltas) {
      const expected = { id: version.id, follows: version.follows!, base: version.base }
      try {
        const folder = await this.#source.folder(version)
        loaded = await load({ kind: 'delta', loaded, folder, expected, version: versionName(version) })
      } catch (error) {
        if (isPinned) throw error
        failure = error
        break
      }
      last = version
      this.#rowsApplied += version.rows + version.gone
    }
    this.#loaded = loaded
    show()
    this.#adopt(last)
    emit({ kind: 'notice', message: `Serving ${versionName(last)}: a base and ${chain.indexOf(last)} deltas.` })
    if (failure !== undefined) throw failure
  }

  #adopt(version: Version): void {
    if (this.#version && this.#at === undefined && version.sequence > this.#version.sequence) this.#note(version)
    this.#version = version
    this.#dense = null
    this.#unseen = this.#unseen.filter(({ sequence }) => sequence > version.sequence)
  }

  #note({ sequence, publishedAt }: Version): void {
    const at = Date.now()
    const lagSeconds = Math.max(0, at - Date.parse(publishedAt)) / 1000
    this.#taken = [...this.#taken.slice(1 - MOST_TAKEN), { sequence, at, lagSeconds }]
  }

  /** Said once for each reason. */
  #wait(reason: string | null): void {
    if (reason !== null && reason !== this.#waiting)
      this.#options.emit({
        kind: 'warning',
        message: `Still serving ${versionName(this.#version!)}, waiting: ${reason}`,
      })
    this.#waiting = reason
  }
}

const reasonOf = (error: unknown) => (isUserError(error) ? formatUserError(error) : (error as Error).message)

/** The newest version that has all it needs. */
function newestChain(versions: readonly Version[]): readonly Version[] | undefined {
  for (const version of versions.toReversed()) {
    const chain = chainOf(versions, version)
    if (chain) return chain
  }
  return undefined
}
