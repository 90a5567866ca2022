/** @file Reports a start, steps, a save or an evaluation that takes far longer than it used to, with who is waited for. What is far is decided in patience.ts. */
import { performance } from 'node:perf_hooks'
import type { Event, EventSink } from '../../base/event/index.ts'
import { type Overdue, Patience, type Stage } from './patience.ts'

export interface HangWatch {
  /** As the one it was given; sees how training comes on. */
  readonly emit: EventSink
  /** A stage begins; undefined: nothing is under way. */
  begin(stage: Stage | undefined): void
  close(): void
}

export interface HangWatchOptions {
  readonly emit: EventSink
  /** `server[1] 10.0.0.4:7001: pull for 31 s`; nothing where it is not known. */
  readonly waitingFor: () => readonly string[]
}

const LOOK_EVERY_MS = 1000
const STAGES_BY_EVENT: Partial<Record<Event['kind'], Stage>> = { batch: 'steps' }

export function watchForHangs({ emit, waitingFor }: HangWatchOptions): HangWatch {
  const patience = new Patience()
  const look = () => {
    const overdue = patience.look(performance.now())
    if (overdue) emit(stalledEvent(overdue, waitingFor()))
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref()
  return {
    begin: (stage) => patience.begin(stage, performance.now()),
    emit: (event) => {
      const stage = event.kind === 'batch' && event.phase === 'infer' ? 'evaluation' : STAGES_BY_EVENT[event.kind]
      if (stage) patience.begin(stage, performance.now(), true)
      emit(event)
    },
    close: () => clearInterval(timer),
  }
}

const WORDS: Readonly<Record<Stage, string>> = {
  start: 'The start of this process takes',
  steps: 'No report of training for',
  save: 'A save takes',
  evaluation: 'No report of an evaluation for',
}

export function stalledEvent({ stage, ms, longestMs }: Overdue, waitingFor: readonly string[]) {
  const seconds = Math.round(ms / 1000)
  const usual = longestMs === undefined ? '' : `, at most ${(longestMs / 1000).toFixed(1)} s before`
  const whom = waitingFor.length > 0 ? ` Waiting for ${waitingFor.join('; ')}.` : ''
  // In a program of its own nobody may answer the signal, and it would end the process.
  const how = process.listenerCount('SIGUSR1') > 0 ? ` kill -USR1 ${process.pid} prints where each thread is.` : ''
  const message = `${WORDS[stage]} ${seconds} s by now${usual}.${whom}${how}`
  const longest = longestMs === undefined ? {} : { longestSeconds: longestMs / 1000 }
  return { kind: 'warning', message, stalled: { stage, seconds, ...longest, waitingFor } } as const
}
