/**
 * @file One target, in a process of its own: cases [from, to), or one that was kept. Sends how far it is; what a case does wrong is sent with
 * its input. A case that hangs or takes the process down is found by the parent, which knows the last that was begun.
 */
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { isUserError } from '../../src/base/util/index.ts'
import { mutated, randomOf } from './mutate.ts'
import { TARGETS, type Target, type Work } from './targets.ts'

/** A case may take so long: a second is what a reader of a text of 16 kB is never near to. */
const SLOW_MS = 1000
/** All cases together may leave so much behind; asked for once in so many cases, since asking costs as much as some cases do. */
const GROWN_BYTES = 512 * 1024 * 1024
const MEMORY_EVERY = 25
const EVERY = 500
/** Each so many-th case is run whole; so is a kept one. */
const WHOLE_EVERY = 32
/** Most cases end in an error, most of whose cost is its stack: it is taken down only where a case is tried again because of it. */
const STACK_LINES = Error.stackTraceLimit

const [name = '', seed = '1', from = '0', to = '0', every = String(EVERY), kept] = process.argv.slice(2)
const target = TARGETS[name]
if (!target) throw new Error(`no target "${name}": ${Object.keys(TARGETS).join(', ')}`)
await main(target)
process.exit(0)

async function main(one: Target): Promise<void> {
  // Where a case is looked for with which the process ended, one after the other.
  const lanes = kept !== undefined || every === '1' ? 1 : (one.lanes ?? 1)
  const works: Work[] = []
  for (let lane = 0; lane < lanes; lane++) works.push(await one.open())
  if (kept !== undefined) return await tryCase(one, works[0]!, readFileSync(kept), -1)
  for (const { run, corpus } of works) await run(Buffer.from(corpus[0]!), true) // what is loaded at first use is no leak and no slow case
  const before = process.memoryUsage.rss()
  for (let number = Number(from); number < Number(to); ) {
    if (number % Number(every) === 0) await send({ kind: 'at', number })
    const end = Math.min(Number(to), number - (number % lanes) + lanes)
    const cases = works.slice(0, end - number).map((work, i) => runNumber(one, work, number + i))
    if (cases.length > 1) await Promise.all(cases)
    const input = await cases[0]!
    if (Math.floor(number / MEMORY_EVERY) < Math.floor(end / MEMORY_EVERY)) {
      const grown = process.memoryUsage.rss() - before
      if (grown > GROWN_BYTES) await report(number, input, `memory grew by ${Math.round(grown / 1e6)} MB`)
    }
    number = end
  }
  await send({ kind: 'at', number: Number(to) })
}

async function runNumber(one: Target, work: Work, number: number): Promise<Uint8Array> {
  const most = isWhole(number) ? undefined : one.most
  const input = mutated(randomOf(Number(seed), number), work.corpus, one.words ?? []).subarray(0, most)
  await tryCase(one, work, input, number)
  return input
}

function isWhole(number: number): boolean {
  return number < 0 || number % WHOLE_EVERY === 0
}

type OneCase = (input: Buffer<ArrayBuffer>) => void | Promise<void>

async function tryCase(one: Target, { run }: Work, input: Buffer<ArrayBuffer>, number: number) {
  const work = (bytes: Buffer<ArrayBuffer>) => run(bytes, isWhole(number))
  const started = performance.now()
  const wrong = await wrongWith(one, work, input, 0)
  if (wrong) {
    const again = (await wrongWith(one, work, input, STACK_LINES)) ?? wrong
    await report(number, input, (again as Error).stack ?? String(again))
  }
  const ms = performance.now() - started
  if (ms > SLOW_MS && (await isSlow(work, input))) await report(number, input, `it took ${Math.round(ms)} ms`)
}

async function wrongWith(one: Target, work: OneCase, input: Uint8Array, stackLines: number): Promise<unknown> {
  Error.stackTraceLimit = stackLines
  try {
    const done = work(Buffer.from(input))
    if (done instanceof Promise) await done
  } catch (error) {
    if (!isUserError(error) && !one.expected?.(error as Error)) return error ?? new Error('it threw nothing')
  }
  return undefined
}

/** Again and again, by processor time: the machine may have been busy, or this process collecting garbage. */
async function isSlow(work: OneCase, input: Uint8Array): Promise<boolean> {
  for (let again = 0; again < 3; again++) if ((await secondsOf(work, input)) * 1000 < SLOW_MS) return false
  return true
}

async function secondsOf(work: OneCase, input: Uint8Array): Promise<number> {
  const before = process.cpuUsage()
  try {
    await work(Buffer.from(input))
  } catch {
    // Only its time is of interest here.
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

async function report(number: number, input: Uint8Array, what: string): Promise<void> {
  await send({ kind: 'finding', number, what, input: Buffer.from(input).toString('base64') })
}

/** Ends when nobody listens any more. */
function send(message: unknown): Promise<void> {
  return new Promise((resolve) =>
    process.send!(message, (error: Error | null) => (error ? process.exit(1) : resolve())),
  )
}
