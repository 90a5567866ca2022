/** @file Online training that is killed at a call to the file system and started again by the same command: what it leaves in the end must be what it leaves unharmed. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { generateDemoDays } from '../../src/data/index.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const HOOK = pathToFileURL(at('kill-at-call.mjs')).href
const OUT = 'output_model'
const END_MS = 120_000

/** Where a process dies. */
export interface Kill {
  /** The number of the call, from 1; 0: it lives. */
  readonly call: number
  /** In its middle, with half of what it writes or removes. */
  readonly isHalf?: boolean
}

export interface Ground {
  readonly root: string
  /** Calls of a run that nobody harms, as text. */
  readonly calls: readonly string[]
  /** What such a run leaves: a checksum for each file. */
  readonly files: Readonly<Record<string, string>>
  /** The clock of all processes, so that files are the same byte for byte. */
  readonly clock: number
}

/** Two days of three passes: deltas, checkpoints, tombstones, bases, batch models, and a past that is removed. */
export async function layGround(root: string): Promise<Ground> {
  const data = { start: '20190720', days: 2, splitInterval: 480, rows: 6, slots: 4 }
  generateDemoDays({ out: join(root, 'data'), ...data })
  const whole = { root, calls: [], files: {}, clock: Date.now() }
  const folder = join(root, 'whole')
  const { code, text } = await train(whole, folder, { call: 0 })
  if (code !== 0) throw new Error(`the run that nobody harms ended with ${code}:\n${text}`)
  const calls = readFileSync(join(root, 'whole.calls'), 'utf8').trimEnd().split('\n')
  return { ...whole, calls, files: filesOf(join(folder, OUT)) }
}

/** Dies at each of `kills`, one process after the other, then runs to its end. Returns what is wrong. */
export async function killAndGoOn(ground: Ground, name: string, kills: readonly Kill[]): Promise<readonly string[]> {
  const folder = join(ground.root, name)
  for (const kill of kills) {
    const { signal, code, text } = await train(ground, folder, kill)
    // What was left to do may need fewer calls.
    if (signal !== 'SIGKILL' && code !== 0)
      return [`killed at ${describe(kill)}: ended with ${code ?? signal}:\n${text}`]
  }
  const { code, text } = await train(ground, folder, { call: 0 })
  if (code !== 0) return [`started again it ended with ${code}:\n${text}`]
  const problems = differences(ground.files, filesOf(join(folder, OUT)))
  if (problems.length === 0) rmSync(folder, { recursive: true, force: true })
  return problems
}

/** Runs to its end on a disk that is full at one call; what it said, and which files differ from those of a run that nobody harmed. */
export async function fillDisk(ground: Ground, name: string, call: number) {
  const folder = join(ground.root, name)
  const { code, text } = await train(ground, folder, { call: 0 }, { CHAOS_FULL: String(call) })
  return { code, text, root: join(folder, OUT), differ: differences(ground.files, filesOf(join(folder, OUT))) }
}

export const describe = ({ call, isHalf }: Kill) => `call ${call}${isHalf ? ', in its middle' : ''}`

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly text: string
}

/** The command in a process of its own. */
function train(
  { root, clock }: Pick<Ground, 'root' | 'clock'>,
  folder: string,
  { call, isHalf }: Kill,
  more: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  mkdirSync(folder, { recursive: true })
  const overrides = {
    ...{
      train_data_dir: join(root, 'data'),
      model_save_path: OUT,
      end_day: '20190721',
      split_interval: 480,
      split_per_pass: 1,
    },
    ...{ evaluate: 'next', keep_versions: 3, save_first_base: 'True', checkpoint_per_pass: 2, prefetch: 'False' },
    ...{ thread_num: 1, train_thread_num: 1 },
  }
  const words = [
    ...Object.entries(overrides).map(([key, value]) => `runner.${key}=${value}`),
    ...['hyper_parameters.slot_num=4', 'hyper_parameters.layer_sizes=[4]', 'table_parameters.embedding.shard_num=1'],
  ]
  const config = at('../../models/rank/slot_dnn/config_online.yaml')
  const args = [at('../../bin/oarfish.js'), 'train', '-m', config, '-o', ...words]
  const env = {
    ...process.env,
    CHAOS_KILL: `${call}${isHalf ? 'h' : ''}:${join(folder, OUT)}`,
    CHAOS_CALLS: `${folder}.calls`,
    CHAOS_CLOCK: String(clock),
    ...more,
  }
  rmSync(env.CHAOS_CALLS, { force: true })
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', HOOK, ...args], { cwd: folder, env, timeout: END_MS })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (text += piece))
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, text: text.slice(-20_000) }))
  })
}

/** Every file with its checksum: leftovers count too. */
function filesOf(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {}
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map(({ parentPath, name }) => join(parentPath, name))
  return Object.fromEntries(
    paths
      .sort()
      .map((path) => [path.slice(folder.length + 1), createHash('sha256').update(contentOf(path)).digest('hex')]),
  )
}

/** A checkpoint has the number of the lock under which it was saved, which is another one in each process. */
function contentOf(path: string): string | Buffer {
  const content = readFileSync(path)
  const text = path.endsWith('/manifest.json') ? content.toString('utf8') : ''
  return text.includes('"fence"') ? text.replace(/"(fence|crc32)": "?\w+"?,?\n? *(?=["}])/g, '') : content
}

function differences(wanted: Ground['files'], found: Ground['files']): readonly string[] {
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(found)])]
  return names.flatMap((name) => {
    if (wanted[name] === found[name]) return []
    return [
      `${name}: ${found[name] === undefined ? 'is missing' : wanted[name] === undefined ? 'is left over' : 'differs'}`,
    ]
  })
}
