/** @file A server that follows online training: versions as they are published, scores of each, gaps, rolling back. */
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { FOLLOWERS_FOLDER, readFollowers } from '../../src/base/runs/index.ts'
import { generateDemoDays } from '../../src/data/index.ts'
import type { Instance } from '../../src/inference/export/index.ts'
import { type Served, serve } from '../../src/inference/serve/index.ts'
import { parseVersions, versionName, writeDense } from '../../src/inference/versions/index.ts'
import { trainOnline } from '../../src/training/online/index.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const CONFIG = fileURLToPath(new URL('../../models/rank/slot_dnn/config_online.yaml', import.meta.url))
const TOKEN = 'let me in'
let folder: string
let root: string
let served: Served
const events: Event[] = []
const trained: Event[] = []

const trainTo = (day: string) =>
  trainOnline({
    config: loadConfig({
      path: CONFIG,
      cwd: folder,
      overrides: [
        ...[`runner.train_data_dir=${join(folder, 'data')}`, 'runner.model_save_path=out', `runner.end_day=${day}`],
        ...['runner.split_interval=360', 'hyper_parameters.slot_num=8', 'hyper_parameters.layer_sizes=[8]'],
        ...['runner.delta_format=oarfish', 'runner.evaluate=none'],
      ],
    }),
    emit: (event) => void trained.push(event),
  })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-follow-'))
  root = join(folder, 'out')
  generateDemoDays({ out: join(folder, 'data'), start: '20190720', days: 2, splitInterval: 360, rows: 30, slots: 8 })
  await trainTo('20190720')
  const emit = (event: Event) => void events.push(event)
  served = await serve({ follow: root, port: 0, threads: 1, pollMs: 50, adminToken: TOKEN, emit })
})
afterAll(async () => {
  await served?.close()
  await rm(folder, { recursive: true, force: true })
})

interface State {
  readonly version: string
  readonly lagSeconds: number
  readonly rowsApplied: number
  readonly waiting: string | null
}

const health = async (url = served.url): Promise<State> => (await fetch(`${url}/healthz`)).json() as Promise<State>
const isAt = (version: string, url?: string) =>
  vi.waitFor(async () => expect((await health(url)).version).toBe(version), { timeout: 120_000, interval: 50 })

const samples = async (path: string) =>
  JSON.parse(await readFile(join(root, path, 'inference/samples.json'), 'utf8')) as {
    instances: Instance[]
    scores: number[]
  }

const ask = async (instances: readonly Instance[]) => {
  const body = JSON.stringify({ instances })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${served.url}/predict`, { method: 'POST', headers, body })
  return (await answer.json()) as { scores: number[]; version: string }
}

const roll = (at: string | null, token = TOKEN) =>
  fetch(`${served.url}/admin/rollback`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ at }),
  })

test('training says each version that it publishes, in order', () => {
  const published = trained.flatMap((event) => (event.kind === 'published' ? [event] : []))
  expect(published).toMatchObject([
    { version: 'base', sequence: 1, day: '20190720', pass: 1, gone: 0 },
    { version: 'delta', sequence: 2, day: '20190720', pass: 2, gone: 0 },
    { version: 'delta', sequence: 3, day: '20190721', pass: 0, rows: 0 },
    { version: 'base', sequence: 4, day: '20190721', pass: 0, gone: 0 },
  ])
  for (const { version, bytes, rows, gone } of published) {
    expect(bytes).toBeGreaterThan(0)
    expect(rows + gone, version).toBeGreaterThan(0)
  }
})

describe('a server that follows', () => {
  test('begins with the newest version and scores as its export does', async () => {
    expect(await health()).toMatchObject({ version: '20190721/0', lagSeconds: 0, waiting: null })
    const { instances, scores } = await samples('20190721/base')
    const answer = await ask(instances)
    expect(answer.version).toBe('20190721/0')
    for (const [i, score] of answer.scores.entries()) expect(score).toBeCloseTo(scores[i]!, 5)
  })

  test('notes for the dashboard how far it is, beside what it follows, and no more when it ends', async () => {
    const other = await serve({ follow: root, port: 0, threads: 1, pollMs: 50, emit: () => undefined })
    const own = () => readFollowers(root).find(({ name }) => name.endsWith(`:${other.port}`))
    await vi.waitFor(() => expect(own()).toMatchObject({ version: '20190721/0', lagSeconds: 0, taken: [] }))
    await other.close()
    expect(own()).toBeUndefined()
    const aside = join(folder, 'seen', FOLLOWERS_FOLDER)
    const third = await serve({ follow: root, port: 0, threads: 1, followersDir: aside, emit: () => undefined })
    await vi.waitFor(() => expect(readFollowers(join(folder, 'seen'))).toHaveLength(1))
    await third.close()
  })

  test('takes up every version while it answers, without one request lost', async () => {
    const { instances } = await samples('20190721/base')
    let isDone = false
    const seen = new Set<string>()
    const asking = (async () => {
      while (!isDone) {
        const { version, scores } = await ask(instances)
        expect(scores).toHaveLength(instances.length)
        seen.add(version)
      }
    })()
    await trainTo('20190721')
    await isAt('20190722/0')
    isDone = true
    await asking
    expect([...seen]).toContain('20190721/1')
    expect((await health()).rowsApplied).toBeGreaterThan(0)
    // Deltas over the base of the day before are the base of this day.
    const day = await samples('20190722/base')
    const answer = await ask(day.instances)
    for (const [i, score] of answer.scores.entries()) expect(score).toBeCloseTo(day.scores[i]!, 6)
    expect(await (await fetch(`${served.url}/metrics`)).text()).toMatch(
      /oarfish_version_sequence \d+\n[\s\S]*oarfish_version_lag_seconds/,
    )
  })

  test('is rolled back by whoever has the token, stays there, and follows again', async () => {
    expect((await roll('20190721/1', 'wrong')).status).toBe(403)
    expect((await roll('20190799/1')).status).toBe(404)
    expect((await roll('20190721/1')).status).toBe(200)
    expect((await ask((await samples('20190721/base')).instances)).version).toBe('20190721/1')
    expect(await health()).toMatchObject({ version: '20190721/1', pinned: '20190721/1' })
    expect((await roll(null)).status).toBe(200)
    await isAt('20190722/0')
  })

  test('takes up dense weights that are published over the version that it serves, and no others', async () => {
    const { instances } = await samples('20190721/base')
    const before = await ask(instances)
    const versions = parseVersions(await readFile(join(root, 'versions.jsonl'), 'utf8'), root)
    const model = await readFile(join(root, '20190721/delta-1/inference/model.onnx'))
    const write = (at: string, number: number) => {
      const { id, day, pass } = versions.findLast((version) => versionName(version) === at)!
      return writeDense(root, { number, over: id, day, pass, steps: 7, model })
    }
    await write('20190721/1', 1)
    await write('20190722/0', 2)
    const isDense = (dense: number | null) => expect.poll(health, { timeout: 60_000 }).toMatchObject({ dense })
    await isDense(2)
    const after = await ask(instances)
    expect([before.version, after.version]).toEqual(['20190722/0', '20190722/0+2'])
    expect(after.scores).not.toEqual(before.scores)
    expect(await (await fetch(`${served.url}/metrics`)).text()).toContain('oarfish_version_dense_number 2')

    // Those that are damaged are waited at; the ones before are served on.
    await write('20190722/0', 3)
    await writeFile(join(root, 'dense/3/model.onnx'), 'cut off')
    const third = await readFile(join(root, 'dense/current.json'), 'utf8')
    await writeFile(join(root, 'dense/current.json'), third.replace('"number": 3', '"number": 4'))
    await expect.poll(health, { timeout: 60_000 }).toMatchObject({ waiting: expect.stringMatching(/^see/) })
    expect((await ask(instances)).scores).toEqual(after.scores)
    await write('20190722/0', 5)
    await isDense(5)

    // A version that was asked for is that version.
    expect((await roll('20190722/0')).status).toBe(200)
    expect(await ask(instances)).toEqual(before)
    expect(await health()).toMatchObject({ dense: null, pinned: '20190722/0' })
    expect((await roll(null)).status).toBe(200)
    await isDense(5)
    await rm(join(root, 'dense'), { recursive: true })
  })

  test('waits at a version that is missing and says so, then goes on when it is there', async () => {
    const log = join(root, 'versions.jsonl')
    const whole = await readFile(log, 'utf8')
    const [delta, aside] = [join(root, '20190721/delta-1'), join(folder, 'aside')]
    await rename(delta, aside)
    await writeFile(log, whole.split('\n').slice(0, 5).join('\n')) // up to the one that is missing
    const said: Event[] = []
    const options = { follow: root, port: 0, threads: 1, pollMs: 50, adminToken: TOKEN }
    const other = await serve({ ...options, emit: (event) => void said.push(event) })
    const waiting = expect.stringContaining('delta-1')
    const headers = { authorization: `Bearer ${TOKEN}` }
    const told = await (await fetch(`${other.url}/healthz`, { headers })).json()
    expect(told).toMatchObject({ version: '20190721/0', waiting, model: expect.stringContaining(root) })
    // Whoever probes hears that it waits, and no name of a file.
    expect(await health(other.url)).toMatchObject({ version: '20190721/0', waiting: expect.stringMatching(/^see/) })
    expect(JSON.stringify(await health(other.url))).not.toContain(folder)
    await rename(aside, delta)
    await isAt('20190721/1', other.url)
    await writeFile(log, whole)
    await isAt('20190722/0', other.url)
    const caughtUp = { waiting: null, lagSeconds: 0 }
    await expect.poll(() => health(other.url), { timeout: 60_000 }).toMatchObject(caughtUp)
    expect(said.filter(({ kind }) => kind === 'warning').length).toBeGreaterThan(0)
    await other.close()
  })

  test('with --at serves that version alone, and refuses one that is not there', async () => {
    const options = { follow: root, port: 0, threads: 1, emit: () => undefined }
    const pinned = await serve({ ...options, at: '20190721/2' })
    expect(await (await fetch(`${pinned.url}/healthz`)).json()).toMatchObject({
      version: '20190721/2',
      pinned: '20190721/2',
    })
    expect((await fetch(`${pinned.url}/admin/rollback`, { method: 'POST', body: '{"at":null}' })).status).toBe(403)
    await pinned.close()
    await expect(serve({ ...options, at: '20200101/1' })).rejects.toMatchObject({ code: 'VERSION_UNKNOWN' })
    await expect(serve({ ...options, follow: folder })).rejects.toMatchObject({ code: 'VERSIONS_MISSING' })
    await expect(serve({ port: 0, emit: () => undefined })).rejects.toMatchObject({ code: 'CLI_OPTION' })
  })
})
