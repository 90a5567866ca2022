/** @file What benchmarks share: paths, processes that print JSON lines, medians. */
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A path inside the repository. */
export const at = (...path: string[]): string => join(root, ...path)

/** Scratch of the benchmark, kept between runs. */
export function scratch(...path: string[]): string {
  mkdirSync(at('.cache', 'bench'), { recursive: true })
  return at('.cache', 'bench', ...path)
}

export type Json = Readonly<Record<string, unknown>>

/** Runs a command; resolves to the JSON lines it printed. Its other output is shown only if it fails. */
export async function jsonLines(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd = scratch(), // what a program writes where it runs is not for the repository
): Promise<Json[]> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => {
    out += data
  })
  child.stderr.on('data', (data) => {
    err += data
  })
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${out.slice(-2000)}\n${err.slice(-4000)}`)
  return out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Json)
}

/** Runs a TypeScript file of bench/ in a process of its own. */
export const script = (name: string, args: readonly (string | number)[] = []): Promise<Json[]> =>
  jsonLines(process.execPath, ['--import', 'jiti/register', at('bench', name), ...args.map(String)])

/** An address of this host that was free a moment ago. */
export async function freeEndpoint(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return `127.0.0.1:${port}`
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export const thousands = (value: number): string => Math.round(value).toLocaleString('en-US')

/** `oarfish serve` in a process of its own, at a free port. */
export async function startServer(words: readonly string[]) {
  const args = [at('bin', 'oarfish.js'), 'serve', ...words, '--port', '0', '--json']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const found = /http:\/\/[\d.]+:\d+/.exec(line)
      if (found) resolve(found[0])
    })
    child.once('close', () => reject(new Error('the server ended')))
  })
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
