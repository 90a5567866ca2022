/**
 * @file One rank of a group in a process of its own. Argument: JSON `{ plan, work }`; without a plan the environment says it. Prints one JSON line per case, and
 * `failure` when the group fails. Work: `cases` in the main thread, `cases-of-both` also in a thread that blocks, or a trial of failure.
 */
import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { attachGroup, groupPlan, openGroup } from '../../dist/training/collective/index.js'
import { cases, someCases } from './cases.mjs'

const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`)

async function runCases(group, chosen = cases) {
  for (const [name, run] of Object.entries(chosen)) {
    try {
      const result = await run(group)
      const digest = result && createHash('sha256').update(result).digest('hex').slice(0, 16)
      say({ rank: group.rank, case: name, inThread: !isMainThread, ok: true, digest })
    } catch (error) {
      say({ rank: group.rank, case: name, inThread: !isMainThread, ok: false, error: String(error) })
      throw error
    }
  }
}

const works = {
  cases: (group) => runCases(group),
  'some-cases': (group) => runCases(group, someCases),
  'cases-of-both': async (group) => {
    await runCases(group)
    const handle = group.handle()
    const worker = new Worker(new URL(import.meta.url), { workerData: { handle }, transferList: [handle.port] })
    await new Promise((resolve, reject) => worker.once('error', reject).once('exit', resolve))
  },
  /** What libraries of this process see. */
  environment: async (group) => say({ rank: group.rank, hooks: process.env.UCX_MEM_EVENTS }),
  /** Reduces for ever; the test kills a rank. */
  forever: async (group) => {
    const values = new Float32Array(100_000)
    for (let i = 0; ; i++) {
      await group.allReduce(values, 'sum')
      if (i === 20) say({ rank: group.rank, running: process.pid })
    }
  },
  /** The last rank does not come to the call. */
  absent: async (group) => {
    await group.barrier()
    say({ rank: group.rank, running: process.pid })
    if (group.rank === group.size - 1) await new Promise((resolve) => setTimeout(resolve, 60_000))
    await group.allReduce(new Float32Array(1000), 'sum')
  },
  /** The last rank fails for a reason of its own. */
  fails: async (group) => {
    await group.barrier()
    if (group.rank === group.size - 1) throw new Error('the data of this rank is broken')
    await group.allReduce(new Float32Array(1000), 'sum')
  },
  /** A thread of the last rank waits in a call when the rank fails for a reason of its own; the others come later. */
  'fails-in-call': async (group) => {
    await group.barrier()
    if (group.rank === group.size - 1) {
      const handle = group.handle()
      new Worker(new URL(import.meta.url), { workerData: { handle, waits: true }, transferList: [handle.port] }).on(
        'error',
        () => {},
      )
      await new Promise((resolve) => setTimeout(resolve, 300))
      throw new Error('the disk of this rank is full')
    }
    await new Promise((resolve) => setTimeout(resolve, 2500))
    // The first may be answered by the call in which that thread waits; nothing answers the second.
    await group.barrier()
    await group.barrier()
  },
  /** A thread of the last rank waits in a call when the process ends. */
  leaves: async (group) => {
    await group.barrier()
    if (group.rank !== group.size - 1) await new Promise((resolve) => setTimeout(resolve, 60_000))
    const handle = group.handle()
    new Worker(new URL(import.meta.url), { workerData: { handle, waits: true }, transferList: [handle.port] })
    setTimeout(() => process.exit(4), 500)
    await new Promise((resolve) => setTimeout(resolve, 60_000))
  },
  /** Ranks with different configurations. */
  differ: async (group) => {
    if (group.rank === 1) await group.allReduce(new Int32Array(10), 'sum')
    else await group.allReduce(new Float32Array(10), 'sum')
  },
}

async function main({ plan, work }) {
  let group
  try {
    group = await openGroup(plan ?? groupPlan(process.env), (message) => say({ notice: message }))
    say({ rank: group.rank, size: group.size, kind: group.kind, description: group.description })
    await works[work](group)
    await group.close()
    say({ rank: group.rank, closed: true })
  } catch (error) {
    say({ failure: error.message, code: error.code, hint: error.hint })
    await group?.close(error)
    process.exitCode = 3
  }
}

if (isMainThread) await main(JSON.parse(process.argv[2]))
else if (workerData.waits) attachGroup(workerData.handle).barrier()
else await runCases(attachGroup(workerData.handle))
