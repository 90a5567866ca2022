/**
 * @file The same all-reduce through a group, asked by a thread that waits, as trainer threads do. Arguments: bytes, repetitions,
 * and the plan as JSON or nothing, when the environment says it. Rank 0 prints a JSON line with the mean of all ranks' medians: where
 * ranks share cores, what one of them sees depends on who was let run first.
 */
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { attachGroup, groupPlan, openGroup } from '../dist/training/collective/index.js'

if (isMainThread) await main()
else measure(workerData)

async function main() {
  const [bytes, repetitions, plan] = process.argv.slice(2)
  const group = await openGroup(plan ? JSON.parse(plan) : groupPlan(process.env))
  const handle = group.handle()
  const data = { handle, bytes: Number(bytes), repetitions: Number(repetitions), description: group.description }
  const worker = new Worker(new URL(import.meta.url), { workerData: data, transferList: [handle.port] })
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject))
  await group.close()
}

function measure({ handle, bytes, repetitions, description }) {
  const group = attachGroup(handle)
  const values = new Float32Array(new SharedArrayBuffer(bytes))
  const times = []
  for (let i = -Math.floor(repetitions / 5) - 3; i < repetitions; i++) {
    group.barrier()
    const start = performance.now()
    group.allReduce(values, 'sum')
    if (i >= 0) times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  const ms = Float64Array.of(times[times.length >> 1])
  group.allReduce(ms, 'mean')
  if (group.rank === 0) console.log(JSON.stringify({ ranks: group.size, bytes, ms: ms[0], description }))
}
