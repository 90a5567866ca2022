/** @file Processes made ahead: when, for which start, and that none of them stays. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { noteForLauncher } from '../../base/event/index.ts'
import { isRunning } from '../../base/util/index.ts'
import { LIFELINE } from './lifeline.ts'
import { type Plan, type Prepared, Standby } from './standby.ts'
import { superviseJob } from './supervise.ts'

/** Says that it waits, and prints once its turn has come. */
const PROGRAM = `
const { Socket } = require('node:net')
const { appendFileSync } = require('node:fs')
const say = (what) => appendFileSync(process.env.SAYS, what + ' ' + process.pid + '\\n')
const begin = () => { say('begins'); process.exit(0) }
if (process.env.OARFISH_STANDBY !== '1') begin()
else {
  const pipe = new Socket({ fd: Number(process.env.${LIFELINE}.split(':')[1]), readable: true, writable: false })
  pipe.once('data', begin).once('close', () => process.exit(1))
  say('waits')
}`

const RESTART = { number: 1, resumes: true }
let folder: string
let log: string
let says: string
const standbys: Standby<Plan>[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-standby-'))
  log = join(folder, 'workerlog.0')
  says = join(folder, 'says')
  writeFileSync(says, '')
  writeFileSync(log, 'of the start before\n')
})
afterEach(() => {
  for (const standby of standbys.splice(0)) standby.close()
  rmSync(folder, { recursive: true, force: true })
})

const said = (what: string) =>
  readFileSync(says, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${what} `))
    .map((line) => Number(line.split(' ')[1]))

function standbyOf(env: Record<string, string> = {}, command = 'train'): Standby<Plan> {
  const program = join(folder, 'program.cjs')
  writeFileSync(program, PROGRAM)
  const oarfish = [process.execPath, program]
  const process_ = { role: 'worker', rank: 0, endpoint: '', log, goesOn: true, sockets: [] } as const
  const plan = async () => ({ processes: [{ ...process_, env: { PATH: process.env['PATH'], SAYS: says } }] })
  const standby = new Standby<Plan>({ command: [...oarfish, command], oarfish, env, plan })
  standbys.push(standby)
  return standby
}

const run = ({ plan, ahead }: Prepared<Plan>) =>
  superviseJob(
    { command: [process.execPath, join(folder, 'program.cjs'), 'train'], ...plan, ahead, hasAllWorkers: true },
    { emit: () => undefined, signal: new AbortController().signal },
  )

test('once a job has saved something, the processes of its next start wait, and begin with it', async () => {
  const standby = standbyOf()
  standby.watch([log], { number: 0, resumes: false })
  noteForLauncher(log, 'begun')
  noteForLauncher(log, 'saved')
  await expect.poll(() => said('waits')).toHaveLength(1)
  expect(await run(await standby.take(RESTART)).ended).toBe(0)
  expect(said('begins')).toEqual(said('waits'))
})

test('one that has died meanwhile, or waits for a start with more workers, is not taken', async () => {
  const standby = standbyOf()
  standby.watch([log], RESTART)
  noteForLauncher(log, 'begun')
  await expect.poll(() => said('waits')).toHaveLength(1)
  const [pid] = said('waits')
  expect(await run(await standby.take({ ...RESTART, workers: 2 })).ended).toBe(0)
  expect(said('begins')).not.toEqual([pid])
  await expect.poll(() => isRunning(pid!)).toBe(false)
})

test('before anything is saved, for programs that do not know how to wait, and where it is not wanted, none is made', async () => {
  const saved = standbyOf()
  saved.watch([log], { number: 0, resumes: false })
  noteForLauncher(log, 'begun')
  const [unwanted, program] = [standbyOf({ OARFISH_STANDBY: '0' }), standbyOf({}, 'exec')]
  for (const standby of [unwanted, program]) standby.watch([log], RESTART)
  await new Promise((resolve) => setTimeout(resolve, 1000)) // four looks
  for (const standby of [saved, unwanted, program]) expect((await standby.take(RESTART)).ahead).toBeUndefined()
})

test('when the job is over, or its launcher gone, nobody waits any longer', async () => {
  const standby = standbyOf()
  standby.watch([log], RESTART)
  noteForLauncher(log, 'begun')
  await expect.poll(() => said('waits')).toHaveLength(1)
  standby.close()
  await expect.poll(() => isRunning(said('waits')[0]!)).toBe(false)
})
