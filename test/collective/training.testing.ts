/** @file Ranks that train, as processes of this host on the embedded ring: `oarfish train` with the environment of a launcher. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { freePorts } from '../ports.testing.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))

type Said = Readonly<Record<string, unknown>> & { readonly kind: string }

export interface TrainingRank {
  readonly child: ChildProcess
  readonly events: Said[]
  readonly ended: Promise<{ readonly code: number | string; readonly err: string; readonly ms: number }>
}

export interface RanksOptions {
  readonly folder: string
  readonly size: number
  readonly overrides?: readonly string[]
  /** By rank. */
  readonly own?: readonly (readonly string[])[]
  readonly flags?: readonly string[]
  /** @default train, with --digest */
  readonly command?: readonly string[]
  /** @default config.yaml */
  readonly config?: string
}

export async function startRanks({
  folder,
  size,
  overrides = [],
  own = [],
  flags = [],
  command = ['train', '--digest'],
  config = 'config.yaml',
}: RanksOptions): Promise<TrainingRank[]> {
  const ports = await freePorts(size)
  const endpoints = ports.map((port) => `127.0.0.1:${port}`).join(',')
  return ports.map((_, rank) => {
    const all = ['runner.use_fleet=True', ...overrides, ...(own[rank] ?? [])]
    const args = [OARFISH, ...command, '-m', config, '--json', ...flags, '-o', ...all]
    const env = { ...process.env, PADDLE_TRAINER_ENDPOINTS: endpoints, PADDLE_TRAINER_ID: String(rank) }
    const started = performance.now()
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const events: Said[] = []
    let [rest, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) if (line.startsWith('{')) events.push(JSON.parse(line))
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    const patience = setTimeout(() => child.kill('SIGKILL'), 220_000)
    const ended = new Promise<{ code: number | string; err: string; ms: number }>((resolve) =>
      child.once('close', (code, signal) => {
        clearTimeout(patience)
        resolve({ code: code ?? signal ?? 'unknown', err, ms: performance.now() - started })
      }),
    )
    return { child, events, ended }
  })
}

export interface Trained {
  readonly digest: string
  readonly events: readonly Said[]
  readonly notices: readonly string[]
  readonly samples: number
  readonly metrics: Readonly<Record<string, number>>
}

/** Runs all ranks to their end; throws what they said when one fails. */
export async function trainTogether(options: RanksOptions): Promise<readonly Trained[]> {
  const ranks = await startRanks(options)
  return Promise.all(
    ranks.map(async ({ ended, events }, rank): Promise<Trained> => {
      const { code, err } = await ended
      const done = events.find(({ kind }) => kind === 'done')
      if (code !== 0 || !done)
        throw new Error(`rank ${rank} ended with ${code}: ${err} ${JSON.stringify(events.at(-1))}`)
      const notices = events.flatMap(({ kind, message }) => (kind === 'notice' ? [String(message)] : []))
      const { digest, samples, metrics } = done as unknown as Pick<Trained, 'digest' | 'samples' | 'metrics'>
      return { digest, samples, metrics, events, notices }
    }),
  )
}

/** Waits until every rank has trained a batch. */
export async function training(ranks: readonly TrainingRank[]): Promise<void> {
  const trains = ({ events, child: { exitCode } }: TrainingRank) =>
    exitCode !== null || events.some(({ kind }) => kind === 'batch')
  await vi.waitUntil(() => ranks.every(trains), { timeout: 200_000 })
}

/** Tells the last rank to stop once all train, and waits until all have; the epoch in which it was. */
export async function stopOne(ranks: readonly TrainingRank[]): Promise<number> {
  await training(ranks)
  ranks.at(-1)!.child.kill('SIGINT')
  const epochs = ranks.map(async ({ ended, events }, rank) => {
    const { code, err } = await ended
    const stopped = events.find(({ kind }) => kind === 'interrupted')
    if (!stopped || !/interrupted$/.test(String(stopped['path'])))
      throw new Error(`rank ${rank} ended with ${code}, not stopped: ${err} ${JSON.stringify(events.at(-1))}`)
    return Number(stopped['epoch'])
  })
  return (await Promise.all(epochs))[0]!
}
