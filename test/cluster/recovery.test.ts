/** @file Processes of a job that are killed: it starts again from its last cut by itself, and ends with the model of an undisturbed run. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tinyFolder } from '../train/tiny.testing.ts'
import { alive, eventsOf, noneAlive, ofKind, run } from './launch.testing.ts'

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(7680)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SAMPLES = 5760
const EVERY = ['runner.epochs=2', 'runner.print_interval=1', 'runner.snapshot_interval=10']
const SERVED = ['--server_num=2', '--worker_num=2', 'tools/static_ps_trainer.py', '-m', 'config.yaml']
const RANKS = ['--run_mode=collective', '--nproc_per_node=2', 'tools/trainer.py', '-m', 'config.yaml']

/** A cut is saved, in this start of the job. */
const whenSaved = (killed: number) =>
  killed === 0 ? /saved\\?"|save model in \S*cut-/ : /Starting again[\s\S]*(saved\\?"|save model in \S*cut-)/
/** The first cut is saved; then, the job loads it. */
const whenLoaded = (killed: number) => (killed === 0 ? whenSaved(0) : /Starting again[\s\S]*load model from/)

/** Runs the job and kills a victim whenever it is time for the next one. */
async function disturbed(
  name: string,
  words: readonly string[],
  overrides: readonly string[],
  victims: readonly string[],
  when = whenSaved,
) {
  let [killed, seen] = [0, 0]
  const path = `runner.model_save_path=${join(folder, name)}`
  const flags = ['--json', '--log_dir', join(folder, `${name}-log`)]
  const { code, out, mark } = await run('fleetrun', [...flags, ...words, '-o', path, ...EVERY, ...overrides], {
    cwd: folder,
    onOutput: (all) => {
      const victim = victims[killed]
      const fresh = all.slice(seen)
      if (victim === undefined || !when(killed).test(fresh)) return
      seen = all.length
      const [role, rank] = victim.split(' ')
      const events = eventsOf({ out: all.slice(0, all.lastIndexOf('\n') + 1) })
      const processes = ofKind(events, 'process').filter((one) => one.role === role && one.rank === Number(rank))
      killed++
      process.kill(processes.at(-1)!.pid, 'SIGKILL')
    },
  })
  await noneAlive(mark)
  return { code, events: eventsOf({ out }), killed, left: alive(mark), out }
}

/** What the last epoch's checkpoint holds: its files by checksum. */
function modelOf(name: string): unknown {
  const { files, steps } = JSON.parse(readFileSync(join(folder, name, '1/manifest.json'), 'utf8'))
  return { files, steps }
}

describe.each([
  ['ranks', RANKS, ['runner.use_fleet=True'], ['worker 1', 'worker 0']],
  ['sync', SERVED, ['runner.sync_mode=sync'], ['worker 1', 'server 0', 'worker 0', 'server 1']],
] as const)('%s', (name, words, overrides, victims) => {
  test('a job whose processes are killed ends with the model of the undisturbed one, bit for bit', {
    timeout: 400_000,
  }, async () => {
    const whole = await disturbed(`${name}-whole`, words, overrides, [])
    expect([whole.code, whole.left], whole.out).toEqual([0, []])
    const { code, killed, left, events, out } = await disturbed(name, words, overrides, victims)
    expect([code, killed, left], out).toEqual([0, victims.length, []])
    expect(
      ofKind(events, 'notice').filter(({ message }) => /Starting again from the last cut/.test(message)),
    ).toHaveLength(victims.length)
    expect(modelOf(name)).toEqual(modelOf(`${name}-whole`))
  })
})

test('async: every sample of the epoch counts once, whoever was killed', { timeout: 400_000 }, async () => {
  const words = [...SERVED, '--json']
  const { code, killed, events, out } = await disturbed(
    'async',
    words,
    ['runner.sync_mode=async'],
    ['server 1', 'worker 1'],
  )
  expect([code, killed], out).toEqual([0, 2])
  const told = ofKind(events, 'output').flatMap(({ line }) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const ends = told.filter((event) => event.kind === 'epoch' && event.phase === 'train')
  expect(ends.map(({ epoch, samples }) => [epoch, samples])).toEqual([
    [0, SAMPLES],
    [1, SAMPLES],
  ])
})

test('a job that is killed again and again without a new cut ends, and says how it goes on', {
  timeout: 400_000,
}, async () => {
  const words = ['--max_restart=1', ...SERVED]
  const killed = await disturbed('used-up', words, ['runner.sync_mode=sync'], ['worker 1', 'worker 1'], whenLoaded)
  expect([killed.code, killed.left], killed.out).toEqual([137, []])
  expect(ofKind(killed.events, 'warning').at(-1)?.message).toMatch(/started again 1 times without a new cut.*--resume/)
  const resumed = await disturbed('used-up', [...SERVED, '--resume'], ['runner.sync_mode=sync'], [])
  expect(resumed.code, resumed.out).toBe(0)
  expect(modelOf('used-up')).toEqual(modelOf('sync-whole'))
})
