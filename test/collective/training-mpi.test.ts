/** @file `mpirun -np n oarfish train`: the same model as by the ring, and the end of all when a rank is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { tinyFolder } from '../train/tiny.testing.ts'
import { expectWithin } from '../within.testing.ts'
import { MPI_ENV, mpiTools, STARTERS, type Starter } from './mpi.testing.ts'
import { trainTogether } from './training.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const missing = mpiTools()

let folder: string
let ring: Awaited<ReturnType<typeof trainTogether>>
beforeAll(async () => {
  folder = await tinyFolder(320)
  if (!missing) ring = await trainTogether({ folder, size: 2, overrides: [SAVE] })
}, 240_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

const SAVE = 'runner.model_save_path='

function start({ mpirun: [command, ...flags] }: Starter, size: number, ...overrides: string[]): ChildProcess {
  const train = [OARFISH, 'train', '-m', 'config.yaml', '--json', '--digest']
  const args = [...flags, '-np', String(size), process.execPath, ...train, '-o', 'runner.use_fleet=True', SAVE]
  return spawn(command!, [...args, ...overrides], { cwd: folder, env: MPI_ENV, stdio: ['ignore', 'pipe', 'pipe'] })
}

function ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly text: string }> {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
  const patience = setTimeout(() => child.kill('SIGKILL'), 200_000)
  return new Promise((resolve) =>
    child.once('close', (code) => {
      clearTimeout(patience)
      resolve({ code, text })
    }),
  )
}

describe.skipIf(missing)(`mpi training${missing ? ` (skipped: ${missing})` : ''}`, () => {
  describe.each(STARTERS)('$name', (starter) => {
    test('two ranks train the model that the ring trains, bit for bit', async () => {
      const { code, text } = await ended(start(starter, 2))
      expect(code, text).toBe(0)
      expect(text).toContain(`"digest":"${ring[0]!.digest}"`)
    })

    test('four ranks train all samples; one that is killed ends all within 5 seconds', async () => {
      const { code, text } = await ended(start(starter, 4))
      expect(code, text).toBe(0)
      expect(text).toContain('4 ranks have read 240 samples')

      const job = start(starter, 4, 'runner.epochs=100000', 'runner.print_interval=1')
      let killedAt = 0
      job.stdout!.on('data', (piece: Buffer) => {
        if (killedAt > 0 || !String(piece).includes('"kind":"batch"')) return
        killedAt = performance.now()
        process.kill(ranksOf(job.pid!).at(-1)!, 'SIGKILL')
      })
      const failed = await ended(job)
      expect(failed.code).not.toBe(0)
      await expectWithin(performance.now() - killedAt, 5000)
    })

    test('a rank that is frozen within runner.silence_limit is waited for; beyond it all end, and it is named', async () => {
      const job = start(starter, 3, 'runner.epochs=100000', 'runner.print_interval=1', 'runner.silence_limit=4')
      const over = ended(job)
      const steps = () =>
        new Promise<void>((done) => job.stdout!.on('data', (piece) => /"kind":"batch"/.test(piece) && done()))
      await steps()
      const frozen = ranksOf(job.pid!).at(-1)!
      process.kill(frozen, 'SIGSTOP')
      await sleep(1500)
      process.kill(frozen, 'SIGCONT')
      await steps()
      process.kill(frozen, 'SIGSTOP')
      const since = performance.now()
      const { code, text } = await over
      expect(code).not.toBe(0)
      await expectWithin(performance.now() - since, 10_000)
      expect(text).toMatch(/rank \d of 3 \(\S+\) is gone: no sign of life for [4-7]\d{3} ms/)
      expect(text).toMatch(/by the same command with --resume/)
      expect(statusOf(frozen)).not.toMatch(/^State:\t[^Z]/m)
    })
  })
})

/** The processes of node below an mpirun. */
function ranksOf(mpirun: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const below = (pid: number): boolean => {
    const parent = Number(/^PPid:\s+(\d+)/m.exec(statusOf(pid))?.[1] ?? 0)
    return parent === mpirun || (parent > 1 && below(parent))
  }
  return all.map(Number).filter((pid) => /^Name:\s+node/m.test(statusOf(pid)) && below(pid))
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
