/**
 * @file The processes of a job's next start, made ahead: they have loaded all that their start needs and wait for their turn, so that a job
 * that loses a process trains again without the seconds that Node, the model and onnxruntime take to come up.
 */
import type { Env } from '../../base/env/index.ts'
import { readNotes } from '../../base/event/index.ts'
import { type Child, type ProcessSpec, startChild } from './child.ts'
import type { Restart } from './recover.ts'

export interface Plan {
  readonly processes: readonly ProcessSpec[]
}

export interface StandbyOptions<P extends Plan> {
  readonly command: readonly string[]
  /** The words that run `oarfish`. */
  readonly oarfish: readonly string[]
  /** The processes of a start, their ports bound; nothing is started. */
  readonly plan: (restart: Restart, isAhead: boolean) => Promise<P>
  /** Gives up what a plan holds that is not followed. @default nothing */
  readonly drop?: ((plan: P) => void) | undefined
  readonly env: Env
}

/** The processes of a start, and those of them that wait already. */
export interface Prepared<P extends Plan> {
  readonly plan: P
  readonly ahead: readonly Child[] | undefined
}

/** What a process takes that has loaded everything; where so much is not free, none is made. */
const PROCESS_BYTES = 400e6
const LOOK_MS = 250

export class Standby<P extends Plan> {
  readonly #options: StandbyOptions<P>
  #timer: NodeJS.Timeout | undefined
  #next: Promise<Prepared<P> & { readonly restart: Restart }> | undefined
  #isClosed = false

  constructor(options: StandbyOptions<P>) {
    this.#options = options
  }

  /** The start that was made ahead, if it is this one and all its processes live; else one that is yet to be started. */
  async take(restart: Restart): Promise<Prepared<P>> {
    clearInterval(this.#timer)
    const next = await this.#next?.catch(() => undefined)
    this.#next = undefined
    const fits = next?.ahead?.every(({ exit }) => !exit) && restart.resumes && next.restart.workers === restart.workers
    if (next && fits) return next
    this.#drop(next)
    return { plan: await this.#options.plan(restart, false), ahead: undefined }
  }

  /** From here on: as soon as the job trains and has something to go on from, the processes of its next start are made. */
  watch(logs: readonly string[], { resumes, workers }: Restart): void {
    const { command, plan } = this.#options
    if (!canWait(this.#options)) return
    const restart = { number: 1, resumes: true, workers }
    const look = () => {
      const { isRestartable, isSaved } = readNotes(logs)
      if (!isSaved && !(resumes && isRestartable)) return
      clearInterval(this.#timer)
      if (process.availableMemory() < logs.length * PROCESS_BYTES) return
      this.#next = plan(restart, true).then((made) => {
        const ahead = this.#isClosed ? [] : made.processes.map((spec) => startChild(spec, command, true))
        return { plan: made, ahead, restart }
      })
      this.#next.catch(() => undefined) // a start that cannot be planned says so when it is made
    }
    this.#timer = setInterval(look, LOOK_MS).unref()
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    void this.#next?.then((next) => this.#drop(next)).catch(() => undefined)
    this.#next = undefined
  }

  #drop(next: Prepared<P> | undefined): void {
    for (const child of next?.ahead ?? []) child.signal('SIGKILL')
    if (next) this.#options.drop?.(next.plan)
  }
}

/** Programs of a user's own do not know how to wait. */
function canWait({ command, oarfish, env }: Pick<StandbyOptions<Plan>, 'command' | 'oarfish' | 'env'>): boolean {
  const isOurs = oarfish.every((word, i) => command[i] === word) && WAITING.has(command[oarfish.length])
  return isOurs && env['OARFISH_STANDBY'] !== '0'
}

const WAITING: ReadonlySet<string | undefined> = new Set(['train', 'tool'])
