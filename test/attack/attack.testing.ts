/** @file Runs the attacker as a process of its own, on this host or another. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ATTACKER = fileURLToPath(new URL('./attacker.mjs', import.meta.url))

export interface AttackOptions {
  readonly seconds?: number
  /** A second. */
  readonly rate?: number
  /** What everybody may know of the job. */
  readonly knows?: object
  /** @default this host's */
  readonly spawnOn?: (command: string, args: readonly string[], options?: SpawnOptions) => ChildProcess
}

export interface Learned {
  /** Everything that was said to it. */
  readonly heard: string
  /** Connections still open after it said what it said. */
  readonly open: number
  /** How often it was believed. */
  readonly in: number
  readonly sent: number
  /** Of answers over HTTP. */
  readonly statuses: readonly number[]
  /** Of these, connections that nobody took. */
  readonly refused: number
}

/** Resolves to what the attacker has learned. */
export async function attack(name: string, target: string, options: AttackOptions = {}): Promise<Learned> {
  const { seconds = 2, rate = 100, knows = {}, spawnOn = spawn } = options
  const child = spawnOn(process.execPath, [ATTACKER, name, target, String(seconds), String(rate)], {
    env: { ...process.env, ATTACK_KNOWS: JSON.stringify(knows) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), 180_000)
  let out = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  if (code !== 0) throw new Error(`the attacker ended with ${code}: ${out}`)
  return JSON.parse(out)
}
