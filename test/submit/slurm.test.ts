/** @file Jobs by a real Slurm on two hosts: to a trained model, waiting for nodes, stopped, refused. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { filled, guideJobs, at as inRepo, type MpiCluster, mpiTools, openMpiCluster } from './mpi-cluster.testing.ts'
import { openSlurm, type Slurm } from './slurm.testing.ts'

const WAITING = { timeout: 120_000, interval: 300 }
const lacking = mpiTools() ?? slurmTools()
if (lacking) console.warn(`skipped: ${lacking}`)

// A controller of Slurm has been seen to schedule nothing for minutes: each test has its own, and prints what it said where it fails.
describe.skipIf(lacking)(`jobs by Slurm ${lacking ?? ''}`, { timeout: 300_000 }, () => {
  let cluster: MpiCluster
  let slurm: Slurm
  beforeAll(async () => {
    cluster = await openMpiCluster('slurm')
  })
  afterAll(() => cluster?.close())
  beforeEach(async () => {
    slurm = await openSlurm(cluster.hosts)
    cluster.env['SLURM_CONF'] = slurm.config
    cluster.begin()
  })
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') console.error(slurm.said())
    cluster.end()
    slurm.close()
  })

  const at = (path: string) => join(cluster.folder(), path)
  const submit = async () => await cluster.oarfish('run', '-m', 'config.yaml', '-b', 'backend.yaml')
  const write = (config: string, backend: string, values: Readonly<Record<string, string>>) => {
    const paths = { fs_name: `file://${at('remote')}`, output_path: '/out', train_data_path: '/train', group: 'ctr' }
    writeFileSync(at('work/config.yaml'), config)
    writeFileSync(at('work/backend.yaml'), filled(backend, { ...paths, ...values }))
  }
  const bySlurm = (backend: string) => backend.replace(/backend: "?PaddleCloud"?/, 'backend: Slurm')

  for (const { name, config, backend } of [guideJobs()[0]!, guideJobs().at(-1)!]) {
    test(`backend: Slurm runs ${name}`, async () => {
      write(config, bySlurm(backend), {})
      const { code, text } = await submit()
      expect([code, text]).toEqual([0, expect.stringMatching(/Slurm has it as job \d+[\s\S]*job-\w+ succeeded/)])
      expect(readdirSync(at('remote/out/increment_dnn')).length).toBeGreaterThan(0)
      expect(readFileSync(at('remote/out/log/trainer.0.log'), 'utf8')).toMatch(/auc/i)
      expect(existsSync(at('remote/out/log/trainer.1.log'))).toBe(true)
    })
  }

  test('executor slurm: a job that waits says why, stopping one cancels it in Slurm, the next runs', async () => {
    const { config, backend } = guideJobs()[0]!
    const keys = await cluster.serve('--executor', 'slurm')
    write(config, backend, { ...keys, start_cmd: 'sleep 600' })
    const ids: string[] = []
    for (const _ of [1, 2]) ids.push(/"jobId": "([^"]+)"/.exec((await submit()).text)![1]!)
    const [first, second] = ids as [string, string]
    await statusOf(first, /running/)
    expect(await statusOf(second, /queued/)).toMatch(/Slurm job \d+ waits: (Resources|Priority)/)
    await cluster.oarfish('stop', first)
    await statusOf(first, /stopped/)
    await statusOf(second, /running/)
    await cluster.oarfish('stop', second)
    await statusOf(second, /stopped/)
    expect(inSlurm('squeue', '-h')).toBe('')
  })

  test('executor slurm: a job whose supervisor is killed goes on with another, which sees its end and can stop it', async () => {
    const { config, backend } = guideJobs()[0]!
    const keys = await cluster.serve('--executor', 'slurm')
    const begun = async (command: string) => {
      write(config, backend, { ...keys, start_cmd: command })
      const id = /"jobId": "([^"]+)"/.exec((await submit()).text)![1]!
      await statusOf(id, /running/)
      await vi.waitFor(() => expect(inSlurm('squeue', '-h', '-o', '%T')).toContain('RUNNING'), WAITING)
      return id
    }
    const supervisor = (id: string) => Number(readFileSync(at(`server/jobs/${id}/started`), 'utf8').split(' ')[0])

    const first = await begun(`while [ ! -e ${at('done')} ]; do sleep 0.1; done`)
    const killed = supervisor(first)
    process.kill(killed, 'SIGKILL')
    await vi.waitFor(() => expect(supervisor(first)).not.toBe(killed), WAITING)
    expect(await statusOf(first, /running/)).not.toContain('failed')
    writeFileSync(at('done'), '')
    await statusOf(first, /succeeded/)
    expect(readFileSync(at(`server/jobs/${first}/logs/job.log`), 'utf8')).toMatch(/It goes on as job \d+ of Slurm/)

    const second = await begun('sleep 600')
    process.kill(supervisor(second), 'SIGKILL')
    await cluster.oarfish('stop', second)
    await statusOf(second, /stopped/)
    expect(inSlurm('squeue', '-h')).toBe('')
  })

  test('what Slurm refuses, and what it ends itself, is told', async () => {
    const { config, backend } = guideJobs()[0]!
    write(config, bySlurm(backend), { nodes: '3' })
    const tooMany = await submit()
    expect([tooMany.code, tooMany.text]).toEqual([
      2,
      expect.stringContaining('Slurm cannot give the job its nodes: PartitionNodeLimit'),
    ])
    write(config, bySlurm(backend), { start_cmd: 'sleep 600' })
    const running = submit()
    await vi.waitFor(() => expect(inSlurm('squeue', '-h', '-o', '%T')).toContain('RUNNING'), WAITING)
    inSlurm('scancel', ...inSlurm('squeue', '-h', '-o', '%i').trim().split('\n'))
    const ended = await running
    expect([ended.code, ended.text]).toEqual([2, expect.stringMatching(/Slurm ended job \d+ on .*: CANCELLED/)])
  })

  async function statusOf(id: string, phase: RegExp): Promise<string> {
    return await vi.waitFor(
      async () => {
        const { text } = await cluster.oarfish('status', id)
        expect(text).toMatch(phase)
        return text
      },
      { timeout: 120_000, interval: 500 },
    )
  }

  function inSlurm(...words: readonly string[]): string {
    const env = { ...process.env, SLURM_CONF: slurm.config }
    return execFileSync('ip', ['netns', 'exec', cluster.hosts[0]!.name, ...words], { encoding: 'utf8', env })
  }
})

function slurmTools(): string | undefined {
  try {
    execFileSync(process.execPath, [inRepo('scripts/slurm-tools.mjs')], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr)
  }
}
