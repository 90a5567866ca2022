/** @file Trainers that end with and without exe.close(), as processes: what their servers do. */
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { freeEndpoints } from '../ports.testing.ts'
import { exec, type Started } from './process.testing.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/fluid', import.meta.url))
let processes: Started[] = []
afterEach(() => {
  for (const { child } of processes) child.kill('SIGKILL')
  processes = []
})

async function startJob(mode: string, own: Readonly<Record<string, NodeJS.ProcessEnv>> = {}) {
  const PSERVERS = (await freeEndpoints(2)).join(',')
  const start = (ROLE: string, RANK: string) => {
    const started = exec('job.ts', [], FOLDER, { ROLE, RANK, PSERVERS, MODE: mode, ...own[`${ROLE} ${RANK}`] })
    processes.push(started)
    return started
  }
  return {
    servers: ['0', '1'].map((rank) => start('PSERVER', rank)),
    trainers: ['0', '1'].map((rank) => start('TRAINER', rank)),
  }
}

describe('servers', () => {
  test('end when all trainers have closed, also when one has fewer batches', async () => {
    const { servers, trainers } = await startJob('sync', { 'TRAINER 0': { STEPS: '5' }, 'TRAINER 1': { STEPS: '40' } })
    expect(await Promise.all([...trainers, ...servers].map(({ ended }) => ended))).toEqual([0, 0, 0, 0])
    expect(servers.map(({ out }) => out)).toEqual(['served\n', 'served\n'])
  })

  test('of a sync job stop and name a trainer that was killed; so does the other trainer', async () => {
    const { servers, trainers } = await startJob('sync')
    await Promise.all(trainers.map((trainer) => trainer.said('training')))
    trainers[1]!.child.kill('SIGKILL')
    expect(await Promise.all([...servers, trainers[0]!].map(({ ended }) => ended))).toEqual([2, 2, 2])
    for (const { err } of [...servers, trainers[0]!]) expect(err).toContain('trainer[1] ended without exe.close()')
  })

  test('of an async job go on without a trainer that was killed, and say which', async () => {
    const { servers, trainers } = await startJob('async', { 'TRAINER 0': { STEPS: '400' } })
    await Promise.all(trainers.map((trainer) => trainer.said('training')))
    trainers[1]!.child.kill('SIGKILL')
    expect(await Promise.all([...servers, trainers[0]!].map(({ ended }) => ended))).toEqual([0, 0, 0])
    for (const { err } of servers) expect(err).toContain('trainer[1] ended without exe.close()')
    expect(trainers[0]!.out).toContain('trained')
  })

  test('of an async job notice a trainer that forgot to close and end with the last one', async () => {
    const steps = { STEPS: '5' }
    const { servers, trainers } = await startJob('async', { 'TRAINER 0': { ...steps, CLOSE: '0' }, 'TRAINER 1': steps })
    expect(await Promise.all([...trainers, ...servers].map(({ ended }) => ended))).toEqual([0, 0, 0, 0])
    for (const { err } of servers) expect(err).toContain('trainer[0] ended without exe.close()')
  })
})
