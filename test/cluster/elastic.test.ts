/** @file Workers and ranks that leave and join while a job trains: real processes, and a table that counts how often each sample was trained. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeCountingFolder, SAMPLES } from '../chaos/counting.ts'
import { countsOf } from '../chaos/saved.ts'
import { freePorts } from '../ports.testing.ts'
import { eventsOf, noneAlive, ofKind, run } from './launch.testing.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-elastic-'))
  makeCountingFolder(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const EPOCHS = 2
const LIMIT = { timeout: 240_000 }
const TRAINS = /epoch: 0, batch_id: 4,/

/** How often samples were trained, and how many were so often. */
function counted(name: string): readonly (readonly [number, number])[] {
  const times = new Map<number, number>()
  for (const count of countsOf(join(folder, name, String(EPOCHS - 1))).values())
    times.set(Math.round(count * 1000) / 1000, (times.get(Math.round(count * 1000) / 1000) ?? 0) + 1)
  return [...times]
}

// One is held still in some tests until another has come, and nobody may take it for dead meanwhile.
const overrides = (name: string) => [
  ...['-o', `runner.model_save_path=${join(folder, name)}`, `runner.epochs=${EPOCHS}`],
  'runner.silence_limit=60',
]
const messages = (out: string) => ofKind(eventsOf({ out }), 'notice').map(({ message }) => message)
const whole = (all: string) => ({ out: all.slice(0, all.lastIndexOf('\n') + 1) })
const pidOf = (all: string, role: string, rank: number) =>
  ofKind(eventsOf(whole(all)), 'process').findLast(
    (one) => one.role === role && one.rank === rank && one.state === 'running',
  )!.pid

/** fleetrun with a number of workers; each step is taken once its output is there, counted from the step before. */
async function fleetrun(
  name: string,
  workers: string,
  mode: string,
  steps: readonly (readonly [when: RegExp, (all: string) => void])[],
) {
  let [taken, seen] = [0, 0]
  const log = join(folder, `${name}-log`)
  const words = ['--json', '--log_dir', log, '--server_num=1', `--worker_num=${workers}`, 'tools/static_ps_trainer.py']
  const ended = await run('fleetrun', [...words, '-m', 'config.yaml', ...overrides(name), `runner.sync_mode=${mode}`], {
    cwd: folder,
    onOutput: (all) => {
      const step = steps[taken]
      if (!step?.[0].test(all.slice(seen))) return
      taken++
      seen = all.length
      step[1](all)
    },
  })
  await noneAlive(ended.mark)
  return { ...ended, taken }
}

const join1 = (name: string, codes: Promise<number | null>[]) =>
  codes.push(
    run('fleetrun', ['--join', '--log_dir', join(folder, `${name}-log`)], { cwd: folder }).then(({ code }) => code),
  )

test.each(['async', 'sync'])(
  '%s: one worker leaves, another joins, and every sample counts once an epoch',
  LIMIT,
  async (mode) => {
    const joins: Promise<number | null>[] = []
    const { code, out, taken } = await fleetrun(mode, '1:2', mode, [
      [TRAINS, (all) => process.kill(pidOf(all, 'worker', 1), 'SIGTERM')],
      [
        /Going on from the last cut with 1 of 1:2 workers: 1 left[\s\S]*epoch: 0, batch_id: \d+,/,
        (all) => {
          // It waits until the other is there: else it may end the job before.
          process.kill(pidOf(all, 'worker', 0), 'SIGSTOP')
          join1(mode, joins)
        },
      ],
      [/A worker joins: the job is saved/, (all) => process.kill(pidOf(all, 'worker', 0), 'SIGCONT')],
    ])
    expect([code, taken, await Promise.all(joins)], out).toEqual([0, 3, [0]])
    expect(messages(out)).toContainEqual('Going on from the last cut with 2 of 1:2 workers: 1 joined.')
    expect(counted(mode)).toEqual([[EPOCHS, SAMPLES]])
  },
)

test('below the minimum the job ends with the signal, saved, and goes on with --resume', LIMIT, async () => {
  const { code, out } = await fleetrun('few', '2:3', 'async', [
    [TRAINS, (all) => process.kill(pidOf(all, 'worker', 1), 'SIGTERM')],
    [
      /Going on from the last cut with 2[\s\S]*epoch: 0, batch_id: \d+,/,
      (all) => process.kill(pidOf(all, 'worker', 1), 'SIGTERM'),
    ],
  ])
  expect(code, out).toBe(143)
  expect(ofKind(eventsOf({ out }), 'warning').at(-1)?.message).toMatch(
    /1 worker is left, and the job needs 2.*--resume/,
  )
  const words = ['--server_num=1', '--worker_num=3', 'tools/static_ps_trainer.py', '-m', 'config.yaml', '--resume']
  const again = await run(
    'fleetrun',
    ['--log_dir', join(folder, 'again'), ...words, ...overrides('few'), 'runner.sync_mode=async'],
    { cwd: folder },
  )
  expect(again.code, again.out + again.err).toBe(0)
  expect(counted('few')).toEqual([[EPOCHS, SAMPLES]])
})

test('a server that is asked to stop has the job saved first, and is started again', LIMIT, async () => {
  const { code, out, taken } = await fleetrun('served', '2', 'async', [
    [TRAINS, (all) => process.kill(pidOf(all, 'server', 0), 'SIGTERM')],
  ])
  expect([code, taken], out).toEqual([0, 1])
  expect(messages(out)).toContainEqual('Starting again from the last cut.')
  expect(out).toMatch(/load model from \S*interrupted/)
  expect(counted('served')).toEqual([[EPOCHS, SAMPLES]])
})

test('nobody joins where no job of workers that come and go runs', async () => {
  const { code, err } = await run('fleetrun', ['--join', '--log_dir', join(folder, 'none')], { cwd: folder })
  expect([code, err]).toEqual([2, expect.stringMatching(/No job whose size may change has its logs in/)])
})

test('ranks: a host leaves, another comes, and every sample counts once an epoch', LIMIT, async () => {
  const master = `127.0.0.1:${(await freePorts(1))[0]}`
  const host = (
    name: string,
    onOutput: (all: string, launcher: { kill(signal: 'SIGTERM'): unknown }) => void = () => {},
  ) => {
    const flags = [
      '--master',
      master,
      '--nnodes',
      '1:2',
      '--elastic_timeout',
      '20',
      '--log_dir',
      join(folder, name),
      '--json',
    ]
    const words = ['tools/static_trainer.py', '-m', 'config.yaml', ...overrides('ranks')]
    return run('oarfish', ['launch', ...flags, ...words], { cwd: folder, onOutput })
  }
  const others: ReturnType<typeof host>[] = []
  let hasLeft = false
  /** The rank that is left waits until the third host is there: else it may end the job before. */
  let waits: { readonly pid: number; readonly since: number } | undefined
  const first = await host('one', (all) => {
    if (others.length === 0 && all.includes('Copy the following'))
      others.push(
        host('two', (two, launcher) => {
          if (hasLeft || !TRAINS.test(two)) return
          hasLeft = true
          launcher.kill('SIGTERM')
        }),
      )
    if (others.length === 1 && /Going on from the last cut with 1 of[\s\S]*epoch: 0, batch_id: \d+,/.test(all)) {
      waits = { pid: pidOf(all, 'worker', 0), since: all.length }
      process.kill(waits.pid, 'SIGSTOP')
      others.push(host('three'))
    }
    if (waits && all.slice(waits.since).includes('has come: 2 of 1:2')) {
      process.kill(waits.pid, 'SIGCONT')
      waits = undefined
    }
  })
  const ended = [first, ...(await Promise.all(others))]
  const text = ended.map(({ out, err }) => out + err).join('\n')
  expect(
    ended.map(({ code }) => code),
    text,
  ).toEqual([0, 143, 0])
  expect(messages(first.out)).toContainEqual('Going on from the last cut with 2 of 1:2 hosts, 2 ranks.')
  expect(counted('ranks')).toEqual([[EPOCHS, SAMPLES]])
})
