/** @file Curves of a job whose nodes share no disk with its server: from what its trainers print, while it runs and after its end, for those who may see it. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Charts, RunDetail, RunList } from '../../src/jobs/dashboard/api.ts'
import { openPageServer, type PageServer, signedIn } from './job-page.testing.ts'

let server: PageServer
beforeAll(async () => {
  server = await openPageServer()
})
afterAll(() => server?.close())

const line = (text: string) => `2026-01-31 08:05:09,042 - INFO - ${text}\n`
const batch = (epoch: number, id: number, loss: number) =>
  line(
    `epoch: ${epoch}, batch_id: ${id}, loss: ${loss}, auc: 0.7, avg_reader_cost: 0.00100 sec, avg_batch_cost: 0.01000 sec, avg_samples: 512.00000, ips: 51200.00000 ins/s`,
  )
const PRINTED = [
  ...[0, 10, 20].map((id) => batch(0, id, 0.6 - id / 100)),
  line('epoch: 0 done, loss: 0.4, auc: 0.72, epoch time: 5.00 s'),
  line('Already save model in output/0'),
  line('infer epoch: 0 done, loss: 0.41, auc: 0.71, epoch time: 0.50 s'),
]

test('a job without a record here has a run made of its logs: live, and done when it is', async () => {
  const file = join(server.dir, '..', 'printed.txt')
  writeFileSync(file, PRINTED.join(''))
  const command =
    'cat printed.txt; until test -e go; do sleep 0.05; done; sed -n 1,3p printed.txt | sed "s/epoch: 0/epoch: 1/"'
  const job = await server.submit('alice', { name: 'far', command, permission: 'private' }, [file])
  await server.phase('alice', job, 'running')
  const alice = await signedIn(server, server.keys.alice)
  const get = async <T>(path: string) => JSON.parse((await alice('GET', `/page/jobs/${job}/api/${path}`)).text) as T
  const listed = async () => (await get<RunList>('runs')).runs
  await expect.poll(async () => (await listed()).map(({ name, state }) => [name, state])).toEqual([['far', 'running']])
  const [{ id }] = (await listed()) as [RunList['runs'][number]]
  const losses = async () => {
    const [line] = (await get<Charts>(`charts/${id}?y=loss`)).charts['loss']!
    return line && [line.x, line.y]
  }
  await expect.poll(losses).toEqual([
    [1, 11, 21],
    [0.6, 0.5, 0.4],
  ])
  const detail = await get<RunDetail>(`runs/${id}`)
  expect(detail.hints.map(({ kind }) => kind)).toContain('fromLogs')
  expect(detail.epochs).toMatchObject([{ epoch: 0, saved: 'output/0', train: { auc: 0.72 }, test: { auc: 0.71 } }])
  expect(detail.row).toMatchObject({ step: 21, samplesPerSecond: 51_200 })

  writeFileSync(join(server.dir, 'jobs', job, 'work/node-0/go'), '')
  await server.phase('alice', job, 'succeeded')
  await expect.poll(async () => (await listed())[0]!.state).toBe('done')
  await expect.poll(async () => (await losses())?.[0]).toEqual([1, 11, 21, 22, 32, 42])
  const eve = await signedIn(server, server.keys.eve)
  expect((await eve('GET', `/page/jobs/${job}/api/runs/${id}`)).status).toBe(404)
  rmSync(file)
})

test('a job that prints no batch has none', async () => {
  const job = await server.submit('alice', { name: 'quiet', command: 'echo epoch: 0, batch_id: 7, hello' })
  await server.phase('alice', job, 'succeeded')
  const alice = await signedIn(server, server.keys.alice)
  const { text } = await alice('GET', `/page/jobs/${job}/api/runs`)
  expect((JSON.parse(text) as RunList).runs.map(({ state }) => state)).toEqual([])
})
