/** @file Loaded before a command that prints events as JSON lines: adds one with the processor seconds between `ready` and `done`, of all its threads. */
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const write = process.stdout.write.bind(process.stdout)
  let from
  process.stdout.write = (chunk, ...rest) => {
    const text = String(chunk)
    if (text.includes('"kind":"ready"')) from = process.cpuUsage()
    if (from && text.includes('"kind":"done"')) {
      const { user, system } = process.cpuUsage(from)
      write(`${JSON.stringify({ kind: 'cpu', seconds: (user + system) / 1e6 })}\n`)
    }
    return write(chunk, ...rest)
  }
}
