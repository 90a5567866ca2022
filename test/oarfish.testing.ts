/** @file The built command in a process of its own, as a user runs it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../bin/oarfish.js', import.meta.url))

export interface Finished {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs `oarfish` with these arguments; `onOutput` sees standard output as it comes. */
export function oarfish(
  args: readonly string[],
  cwd: string,
  onOutput: (text: string, child: ChildProcess) => void = () => undefined,
  env: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      onOutput(text, child)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, out, err }))
  })
}

/** Slot text with a label that depends on slot 1: `rows` samples of slots 1 and 2 and 13 dense values. */
export async function writeSlotText(folder: string, rows: number): Promise<void> {
  const lines = Array.from({ length: rows }, (_, i) => {
    const dense = Array.from({ length: 13 }, (_, d) => `dense_feature:${((i * 7 + d) % 10) / 10}`)
    return `click:${i % 2} ${dense.join(' ')} 1:${(i % 2) + 10 * (i % 5)} 2:${i % 97}`
  })
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'part-0'), `${lines.join('\n')}\n`)
}
