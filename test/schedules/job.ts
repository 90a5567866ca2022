/** @file A simulated job over all its starts: processes on the virtual network, a launcher that decides by src/jobs/launch/next-start.ts, and a disk that outlives them. */
import { FIRST_START, nextStart } from '../../src/jobs/launch/next-start.ts'
import { type Answer, EMPTY, type Later, type Request, SimServer } from './server.ts'
import { type Effect, type JobSize, resized, type Saved, workerScript } from './worker.ts'
import type { World } from './world.ts'

/** How often what is not answered is asked again. */
const RETRY_MS = 60
const WRITE_MS = 15
/** From the end of a process to that of the others, and to the next start. */
const NOTICED_MS = 25
const START_MS = 40

export interface Crash {
  readonly atMs: number
  /** `worker 1`, `server 0`, or `launcher`, with which all end. */
  readonly who: string
}

/** From the next cut on there are so many workers. */
export interface SizeChange {
  readonly atMs: number
  readonly workers: number
}

/** What outlives processes. */
interface Disk {
  saved: Saved[]
  cuts: number
}

export class SimJob {
  readonly #world: World
  #size: JobSize
  /** Workers that the job has from the next cut on. */
  #wanted: number
  readonly #disk: Disk
  #running: Start | undefined
  #starts = FIRST_START
  isDone = false
  /** By the launcher, and by hand. */
  restarts = 0
  byHand = 0
  /** Times that the number of workers has changed. */
  resizes = 0

  constructor(world: World, size: JobSize, crashes: readonly Crash[], changes: readonly SizeChange[] = []) {
    this.#world = world
    this.#size = size
    this.#wanted = size.workers
    for (const { atMs, workers } of changes)
      world.after(atMs, () => {
        this.#wanted = workers
      })
    const first = { epoch: 0, tables: Array.from({ length: size.servers }, () => EMPTY) }
    this.#disk = { saved: [first], cuts: 0 }
    for (const { atMs, who } of crashes) world.after(atMs, () => this.#crash(who))
    this.#start()
  }

  /** What is on the disk in the end. */
  get result(): Saved {
    return this.#disk.saved.at(-1)!
  }

  #start(): void {
    const from = resized(this.#disk.saved.at(-1)!, this.#size)
    const running: Start = new Start(this.#world, this.#size, from, {
      write: (saved) => {
        this.#disk.saved = [...this.#disk.saved.slice(-1), saved]
        if (!saved.places) return
        this.#disk.cuts++
        if (this.#wanted !== this.#size.workers && this.#running === running) this.#resize(running)
      },
      done: () => {
        this.isDone = true
      },
    })
    this.#running = running
  }

  /** All have stopped at this cut, and go on with another number. */
  #resize(running: Start): void {
    running.kill('launcher')
    this.#running = undefined
    this.#size = { ...this.#size, workers: this.#wanted }
    this.resizes++
    this.#world.after(START_MS, () => this.#start())
  }

  #crash(who: string): void {
    const running = this.#running
    if (this.isDone || !running) return
    running.kill(who)
    // The others go on until the launcher has noticed.
    this.#running = undefined
    this.#world.after(NOTICED_MS * this.#world.rng.uniform(), () => {
      running.kill('launcher')
      if (!this.isDone) this.#again(who === 'launcher')
    })
  }

  #again(isByHand: boolean): void {
    const rules = { maxRestart: 3, resumes: this.byHand > 0 }
    const end = { code: 137, saved: this.#disk.cuts, aborted: false }
    const { verdict, starts } = nextStart(this.#starts, end, rules)
    if (isByHand || verdict !== 'again') {
      this.byHand++
      this.#starts = { ...FIRST_START, saved: this.#disk.cuts }
    } else {
      this.restarts++
      this.#starts = starts
    }
    this.#world.after(START_MS, () => this.#start())
  }
}

interface StartOptions {
  readonly write: (saved: Saved) => void
  readonly done: () => void
}

/** Processes between two starts. What a process of an earlier start sends reaches nobody. */
class Start {
  readonly #world: World
  readonly #servers: readonly SimServer[]
  readonly #options: StartOptions
  readonly #dead = new Set<string>()
  /** By server and request: what is answered later. */
  readonly #waiting: Map<object, () => boolean>[]
  #left: number

  constructor(world: World, size: JobSize, from: Saved, options: StartOptions) {
    this.#world = world
    this.#options = options
    this.#servers = Array.from({ length: size.servers }, () => new SimServer(size.mode, size.workers))
    this.#waiting = this.#servers.map(() => new Map())
    this.#left = size.workers
    for (let rank = 0; rank < size.workers; rank++) {
      const script = workerScript(rank, size, from)
      world.after(world.rng.uniform() * START_MS, () => this.#advance(rank, script, []))
    }
  }

  kill(who: string): void {
    this.#dead.add(who)
  }

  #isDead(who: string): boolean {
    return this.#dead.has('launcher') || this.#dead.has(who)
  }

  /** Requests that nobody waits for, by worker. */
  readonly #open = new Map<number, Set<object>>()
  readonly #settling = new Map<number, () => void>()

  #advance(rank: number, script: Generator<Effect, void, readonly Answer[]>, answers: readonly Answer[]): void {
    if (this.#isDead(`worker ${rank}`)) return
    const { value: effect, done } = script.next(answers)
    if (done) {
      if (--this.#left === 0) this.#options.done()
      return
    }
    const next = (given: readonly Answer[] = []) => this.#advance(rank, script, given)
    if (effect.kind === 'ask') this.#ask(rank, effect, next)
    else if (effect.kind === 'settle') this.#settle(rank, next)
    else
      this.#world.after(WRITE_MS, () => {
        if (this.#isDead(`worker ${rank}`)) return
        this.#options.write(effect.saved)
        next()
      })
  }

  #ask(rank: number, { asked }: Effect & { kind: 'ask' }, next: (answers: readonly Answer[]) => void): void {
    const answers: Answer[] = []
    let missing = asked.to.length
    const open = this.#open.get(rank) ?? new Set()
    this.#open.set(rank, open)
    const mark = {}
    open.add(mark)
    const answered = (at: number, answer: Answer) => {
      answers[at] = answer
      if (--missing > 0) return
      open.delete(mark)
      if (asked.waits) next(answers)
      else if (open.size === 0) this.#settling.get(rank)?.()
    }
    for (const [at, server] of asked.to.entries())
      this.#request(rank, server, asked.request(server), (answer) => answered(at, answer))
    if (!asked.waits) this.#world.after(0, () => next([]))
  }

  #settle(rank: number, next: () => void): void {
    const settled = () => {
      this.#settling.delete(rank)
      next()
    }
    if ((this.#open.get(rank)?.size ?? 0) === 0) settled()
    else this.#settling.set(rank, settled)
  }

  /** Asked again and again until it is answered; each answer but the first is passed over. */
  #request(rank: number, server: number, request: Request, receive: (answer: Answer) => void): void {
    const [from, to] = [`worker ${rank}`, `server ${server}`]
    let isAnswered = false
    const back = (answer: Answer) =>
      this.#world.send(to, from, () => {
        if (isAnswered || this.#isDead(from)) return
        isAnswered = true
        receive(answer)
      })
    const ask = () => {
      if (isAnswered || this.#isDead(from)) return
      this.#world.send(from, to, () => {
        if (!this.#isDead(to)) this.#answer(server, request, this.#servers[server]!.handle(rank, request), back)
      })
      this.#world.after(RETRY_MS, ask)
    }
    ask()
  }

  /** At once, or when another request has changed what it waits for. */
  #answer(server: number, request: Request, later: Later, back: (answer: Answer) => void): void {
    const waiting = this.#waiting[server]!
    const look = () => {
      const answer = later()
      if (answer === undefined) return false
      back(answer)
      return true
    }
    waiting.set(request, look)
    for (const [key, one] of [...waiting]) if (one()) waiting.delete(key)
  }
}
