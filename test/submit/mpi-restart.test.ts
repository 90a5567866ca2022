/** @file A collective job by mpirun whose rank is killed: it is started again, goes on from its last cut, and ends with the bits of a job that nothing befell. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { filled, guideJobs, at as inPackage, type MpiCluster, mpiTools, openMpiCluster } from './mpi-cluster.testing.ts'

const lacking = mpiTools()
if (lacking) console.warn(`skipped: ${lacking}`)

describe.skipIf(lacking)(`a rank of mpirun that dies ${lacking ?? ''}`, { timeout: 240_000 }, () => {
  let cluster: MpiCluster
  let undisturbed: string
  beforeAll(async () => {
    cluster = await openMpiCluster('restart')
  })
  afterAll(() => cluster?.close())
  beforeEach(() => {
    cluster.begin()
    cluster.env['OARFISH_WORK'] = at('node')
  })
  afterEach(() => cluster.end())
  const at = (path: string) => join(cluster.folder(), path)

  /** Runs the job without a job server; resolves to what was printed and to a hash of its last epoch. */
  async function train(mode: 'ps' | 'collective', output: string, strike?: () => Promise<void>) {
    const { config, backend } = guideJobs().find((job) => RegExp(`fleet_mode: ${mode}`).test(job.config))!
    writeFileSync(at('work/config.yaml'), config)
    writeFileSync(at('work/job.yaml'), jobConfig())
    const start_cmd = 'oarfish train -m job.yaml'
    const values = { fs_name: `file://${at('remote')}`, output_path: output, train_data_path: '/train', start_cmd }
    const direct = filled(backend, { ...values, group: 'ctr', files: './*.ts ./*.yaml' })
    writeFileSync(
      at('work/backend.yaml'),
      direct
        .replace(/backend: "?PaddleCloud"?/, 'backend: MPI')
        .replace(/^submit:\n/m, `submit:\n  hostfile: ${at('hosts')}\n`),
    )
    rmSync(at('node'), { recursive: true, force: true })
    mkdirSync(at('node'))
    const ran = cluster.oarfish('run', '-m', 'config.yaml', '-b', 'backend.yaml')
    await strike?.()
    const { code, text } = await ran
    expect([code, text]).toEqual([0, expect.stringContaining('succeeded')])
    const digest = [inPackage('test/checkpoint-digest.mjs'), at(`remote${output}/saved/${EPOCHS - 1}`)]
    return { text, learned: execFileSync(process.execPath, digest, { encoding: 'utf8' }) }
  }

  test('goes on from the last cut, to the same bits', async () => {
    undisturbed = (await train('collective', '/quiet')).learned
    const struck = await train('collective', '/struck', async () => {
      const jobId = await vi.waitFor(() => jobWithCut(at('node')), WAIT)
      process.kill(processOf(jobId, 1, TRAINER), 'SIGKILL')
    })
    expect(struck.text).toMatch(/Starting again from the last cut: 1 of 3 times since it/)
    expect(struck.learned).toEqual(undisturbed)
    expect(readFileSync(at('remote/struck/log/trainer.0.log'), 'utf8')).toMatch(/started before: it goes on/)
  })

  test('a rank that is frozen is taken for gone, and leaves nothing behind', async () => {
    let frozen = 0
    const struck = await train('collective', '/frozen', async () => {
      const jobId = await vi.waitFor(() => jobWithCut(at('node')), WAIT)
      frozen = processOf(jobId, 1, TRAINER)
      process.kill(frozen, 'SIGSTOP')
    })
    expect(struck.text).toMatch(
      /rank 1 of 2 .* is gone: no sign of life for [45]\d{3} ms[\s\S]*Starting again from the last cut/,
    )
    expect(struck.learned).toEqual(undisturbed)
    const status = `/proc/${frozen}/status`
    expect(existsSync(status) ? readFileSync(status, 'utf8') : '').not.toMatch(/^State:\t[^Z]/m)
  })

  test('a job with servers whose node is killed goes on from the last cut too', async () => {
    const undisturbed = await train('ps', '/quiet-ps')
    const struck = await train('ps', '/struck-ps', async () => {
      const jobId = await vi.waitFor(() => jobWithCut(at('node')), WAIT)
      process.kill(processOf(jobId, 1, /cloud\0node\0--step\0train/), 'SIGKILL')
    })
    expect(struck.text).toMatch(/exited on signal 9[\s\S]*Starting again from the last cut: 1 of 3 times since it/)
    expect(struck.learned).toEqual(undisturbed.learned)
    expect(readFileSync(at('remote/struck-ps/log/trainer.0.log'), 'utf8')).toMatch(/started before: it goes on/)
  })
})

const EPOCHS = 8

/** The model's own, with cuts after every two batches. */
function jobConfig(): string {
  const keys: Readonly<Record<string, string>> = {
    train_data_dir: 'train_data',
    train_batch_size: '8',
    epochs: String(EPOCHS),
    model_save_path: 'saved\n  snapshot_interval: 2',
    sync_mode: 'sync\n  silence_limit: 4',
  }
  const text = readFileSync(inPackage('models/rank/dnn/config.yaml'), 'utf8').replace(/^ +test_data_dir.*\n/m, '')
  return Object.entries(keys).reduce(
    (all, [key, value]) => all.replace(RegExp(`^  ${key}: .*$`, 'm'), `  ${key}: ${value}`),
    text,
  )
}

const WAIT = { timeout: 90_000, interval: 20 }

/** The job of this folder; throws until it has saved a cut. */
function jobWithCut(folder: string): string {
  const [name] = readdirSync(folder)
  expect(readdirSync(join(folder, name!, 'node-0/work/saved'))).toContainEqual(expect.stringMatching(/^cut-/))
  return name!.replace('oarfish-', '')
}

const TRAINER = /train\0-m\0job\.yaml/

/** The process with this command that mpirun has started as this rank. */
function processOf(jobId: string, rank: number, command: RegExp): number {
  const isIt = (pid: string) => {
    try {
      const [environ, words] = ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'))
      const isRank = [`OMPI_COMM_WORLD_RANK=${rank}`, `OARFISH_JOB_ID=${jobId}`].every((part) =>
        environ!.includes(part),
      )
      return isRank && command.test(words!)
    } catch {
      return false // it has just ended
    }
  }
  const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isIt(name))
  expect(found).toHaveLength(1)
  return Number(found[0])
}
