/** @file Loaded into every thread of a job by scripts/stalls.mjs: notes when the main thread, or the pulse thread, did not run. */
import { appendFileSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'

const EVERY_MS = 10
const NOTED_MS = 30
const { OARFISH_STALLS: folder, TRAINING_ROLE: role } = process.env
const isPulse = !isMainThread && workerData?.everyMs !== undefined

if (folder && role && (isMainThread || isPulse)) {
  const file = `${folder}/${role === 'PSERVER' ? 'server' : 'worker'}-${isPulse ? 'pulse' : 'main'}-${process.pid}`
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    const ms = now - last - EVERY_MS
    last = now
    if (ms >= NOTED_MS) appendFileSync(file, `${JSON.stringify({ at: Date.now(), ms: Math.round(ms) })}\n`)
  }, EVERY_MS).unref()
}
