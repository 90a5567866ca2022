/** @file What a person who knows training would say at the sight of a run. Pure. */
import type { EpochRow, Hint, ProcessRow, RunRow } from './api.ts'

const WAITS = 0.3
const LATE = 0.7
const LOOKS_UP = 0.5
/** So many times the time that others take to answer, and longer than noise. */
const [SLOW, LEAST_ANSWER] = [1.8, 0.0005]

interface Seen {
  readonly row: RunRow
  readonly processes: readonly ProcessRow[]
  readonly epochs: readonly EpochRow[]
  readonly damaged: number
}

export function hintsOf(seen: Seen): readonly Hint[] {
  return [gone, newer, damaged, inputBound, lateWorkers, slowServer, lookupBound, restarts, overfit].flatMap((rule) =>
    rule(seen),
  )
}

const percent = (share: number) => Math.round(100 * share)
const trainersOf = ({ processes }: Seen) => processes.filter(({ role }) => role !== 'server')

function gone({ row, processes }: Seen): Hint[] {
  const names = (state: string) =>
    processes
      .filter((process) => process.state === state)
      .map(({ name }) => name)
      .join(', ')
  if (row.state === 'died') return [{ kind: 'died', values: { who: names('died') } }]
  return row.state === 'silent' ? [{ kind: 'silent', values: { who: names('silent') } }] : []
}

const newer = ({ row }: Seen): Hint[] => (row.isNewer ? [{ kind: 'newer', values: {} }] : [])
const damaged = (seen: Seen): Hint[] => (seen.damaged > 0 ? [{ kind: 'damaged', values: { count: seen.damaged } }] : [])

function inputBound(seen: Seen): Hint[] {
  return trainersOf(seen)
    .filter(({ waiting = 0 }) => waiting > WAITS)
    .slice(0, 1)
    .map(({ name, waiting }) => ({ kind: 'input', values: { who: name, share: percent(waiting!) } }))
}

function lateWorkers(seen: Seen): Hint[] {
  const rates = trainersOf(seen).flatMap(({ samplesPerSecond }) => samplesPerSecond ?? [])
  if (rates.length < 2) return []
  const median = [...rates].sort((a, b) => a - b)[Math.floor(rates.length / 2)]!
  const late = trainersOf(seen).filter(({ samplesPerSecond = median }) => samplesPerSecond < LATE * median)
  if (late.length === 0 || late.length > rates.length / 3 + 1) return []
  const [first] = late
  return [{ kind: 'late', values: { who: first!.name, share: percent(first!.samplesPerSecond! / median) } }]
}

/** All trainers wait longer for one server than for the others. */
function slowServer(seen: Seen): Hint[] {
  const answers = new Map<string, number[]>()
  for (const { to, answerSeconds } of trainersOf(seen).flatMap(({ links }) => links))
    if (to.startsWith('server')) answers.set(to, [...(answers.get(to) ?? []), answerSeconds])
  if (answers.size < 2) return []
  const means = [...answers].map(([to, each]) => ({ to, mean: each.reduce((sum, one) => sum + one, 0) / each.length }))
  const [slowest, ...others] = means.sort((a, b) => b.mean - a.mean)
  const usual = others[Math.floor(others.length / 2)]!.mean
  if (slowest!.mean < SLOW * usual || slowest!.mean < LEAST_ANSWER) return []
  const ms = (seconds: number) => Number((1000 * seconds).toPrecision(3))
  return [{ kind: 'server', values: { who: slowest!.to, own: ms(slowest!.mean), others: ms(usual) } }]
}

function lookupBound(seen: Seen): Hint[] {
  const [first] = trainersOf(seen)
  if (!first) return []
  const all = Object.values(first.parts).reduce((sum, seconds) => sum + seconds, 0)
  const share = ((first.parts['lookup'] ?? 0) + (first.parts['pull'] ?? 0)) / all
  return share > LOOKS_UP ? [{ kind: 'lookup', values: { share: percent(share) } }] : []
}

function restarts({ processes }: Seen): Hint[] {
  const most = Math.max(0, ...processes.map(({ starts }) => starts))
  return most > 1 ? [{ kind: 'restarts', values: { count: most - 1 } }] : []
}

function overfit({ epochs, row }: Seen): Hint[] {
  const last = epochs.findLast(({ test }) => test !== undefined)
  const best = epochs.find(({ isBest }) => isBest)
  if (row.state === 'running' || !last || !best || last.epoch === best.epoch) return []
  return [{ kind: 'overfit', values: { best: best.epoch, last: last.epoch } }]
}
