/** @file The dashboard's answers: lines that lose no peak, smoothing that does not depend on how often a run printed, and who may ask. */
import { execFileSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { noteRun, readPlain, readWithin, runPaths } from '../../base/runs/index.ts'
import type { RunDetail } from './api.ts'
import { writeFollower, writeRun } from './example-run.testing.ts'
import { hintsOf } from './hints.ts'
import { openDashboard } from './index.ts'
import { LiveFeed } from './live.ts'
import { readLog } from './logs.ts'
import { readPage } from './page-file.ts'
import { smoothedBy, thinned } from './series.ts'

let folder: string
let page: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-dashboard-'))
  page = join(folder, 'index.html')
  writeFileSync(page, '<style>a{}</style><script>1</script>')
  writeRun(join(folder, 'runs/one'), { rows: 3000, workers: 2 })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const open = (options = {}) => openDashboard({ folders: [folder], version: '0', port: 0, page, ...options })
const ask = async (url: string, path: string, init?: RequestInit) => {
  const response = await fetch(new URL(path, url), init)
  return { status: response.status, body: (await response.json()) as Record<string, never> }
}

test('thinning keeps the first, the last, the smallest and the largest, in order', () => {
  const values = fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 500 })
  fc.assert(
    fc.property(values, fc.integer({ min: 2, max: 60 }), (list, buckets) => {
      const y = Float64Array.from(list)
      const line = thinned(
        y.map((_, i) => i),
        y,
        buckets,
      )
      expect(line.x.length).toBeLessThanOrEqual(Math.max(list.length, 2 * buckets + 2))
      expect([line.y[0], line.y.at(-1)]).toEqual([list[0], list.at(-1)])
      expect([Math.min(...line.y), Math.max(...line.y)]).toEqual([Math.min(...list), Math.max(...list)])
      expect([...line.x]).toEqual([...line.x].sort((a, b) => a - b))
      for (const [i, x] of line.x.entries()) expect(line.y[i]).toBe(list[x])
    }),
  )
})

test('a run that printed ten times as often is smoothed to the same line', () => {
  const curve = (step: number) => {
    const x = Float64Array.from({ length: 1000 / step + 1 }, (_, i) => i * step)
    return smoothedBy(
      x,
      x.map((at) => Math.exp(-at / 300)),
      0.5,
    )
  }
  const [often, seldom] = [curve(1), curve(10)]
  for (const at of [200, 500, 900]) expect(Math.abs(often[at]! - seldom[at / 10]!)).toBeLessThan(0.01)
})

test('it answers about runs, their curves and their logs', async () => {
  const { url, close } = await open()
  const { runs } = (await ask(url, '/api/runs')).body as unknown as { runs: { id: string; name: string }[] }
  expect(runs.map(({ name }) => name)).toEqual(['one'])
  const { id } = runs[0]!
  const detail = (await ask(url, `/api/runs/${id}`)).body as unknown as {
    processes: { name: string }[]
    columns: string[]
  }
  expect(detail.processes.map(({ name }) => name)).toEqual(['server-0', 'worker-0', 'worker-1'])
  expect(detail.columns).toContain('loss')
  const asked = await ask(url, `/api/charts/${id}?y=loss,auc&points=100&smooth=0`)
  const { charts } = asked.body as unknown as {
    charts: Record<string, { x: number[]; total: number; process: string }[]>
  }
  expect(charts['loss']!.map(({ process, total }) => [process, total])).toEqual([
    ['worker-0', 3000],
    ['worker-1', 3000],
  ])
  expect(charts['loss']![0]!.x.length).toBeLessThanOrEqual(202)
  const zoomed = (await ask(url, `/api/charts/${id}?y=loss&points=500&from=1000&to=1500`)).body as unknown as {
    charts: typeof charts
  }
  expect(zoomed.charts['loss']![0]!.total).toBe(zoomed.charts['loss']![0]!.x.length)
  const log = (await ask(url, `/api/runs/${id}/logs/worker-0?q=LINE%207&lines=5`)).body as unknown as {
    lines: { number: number }[]
    matching: number
  }
  expect([log.matching, log.lines.at(-1)!.number]).toEqual([111, 799])
  expect((await ask(url, '/api/runs/nothing')).status).toBe(404)
  expect((await ask(url, `/api/runs/${id}/logs/worker-9`)).status).toBe(404)
  expect((await ask(url, '/api/runs', { method: 'POST' })).status).toBe(405)
  await close()
})

test('a page of somebody else does not reach it by a name of theirs; another host needs the token', async () => {
  const { url, close, port } = await open()
  const { request } = await import('node:http')
  const status = await new Promise<number>((resolve) =>
    request({ port, path: '/api/runs', headers: { host: 'evil.example' } }, (answer) =>
      resolve(answer.statusCode!),
    ).end(),
  )
  expect(status).toBe(400)
  await close()
  const open2 = await open({ host: '0.0.0.0' })
  const token = new URL(open2.url).searchParams.get('token')!
  const own = `http://127.0.0.1:${open2.port}`
  expect((await ask(own, '/api/runs')).status).toBe(401)
  expect((await ask(own, '/api/runs?token=wrong')).status).toBe(401)
  expect((await ask(own, `/api/runs?token=${token}`)).status).toBe(200)
  const cookie = (await fetch(`${own}/?token=${token}`)).headers.get('set-cookie')!
  expect(cookie).toMatch(/HttpOnly; SameSite=Strict/)
  expect((await ask(own, '/api/runs', { headers: { cookie: cookie.split(';')[0]! } })).status).toBe(200)
  await open2.close()
  expect(url).not.toContain('token')
})

test('a port in use is passed over, an address of another host is said', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  const dashboard = await open({ port })
  expect(dashboard.port).toBeGreaterThan(port)
  await dashboard.close()
  taken.close()
  await expect(open({ host: '203.0.113.1' })).rejects.toMatchObject({ code: 'DASHBOARD_PORT' })
  await expect(open({ port: 70_000 })).rejects.toMatchObject({ code: 'DASHBOARD_PORT' })
})

test('versions of online training are told with the servers that follow, and what is no server of theirs is passed over', async () => {
  const own = mkdtempSync(join(tmpdir(), 'oarfish-dashboard-online-'))
  writeRun(own, { rows: 20, versions: 600 })
  // A job that goes on after a kill publishes the same again.
  const again = { kind: 'published', version: 'delta', sequence: 600, day: '20190720', pass: 599, rows: 7, gone: 0 }
  const line = { ...again, bytes: 100, publishedAt: 1, at: 2 }
  appendFileSync(runPaths(own).eventFile('local'), `${JSON.stringify(line)}\n{"kind":"published","at":3}\n`)
  writeFollower(own, 'near:8080', 600)
  writeFollower(own, 'far:8080', 600, 3)
  writeFileSync(join(own, 'published/followers/other.json'), '{"name": 1}')
  writeFileSync(join(own, 'published/followers/torn.json'), '{"name": "x", ')
  const dashboard = await open({ folders: [own] })
  const [run] = (await ask(dashboard.url, 'api/runs')).body['runs'] as unknown as { id: string }[]
  const detail = (await ask(dashboard.url, `api/runs/${run!.id}`)).body as unknown as RunDetail
  const { versions, total, followers } = detail.online!
  expect([versions.length, total, versions[0]!.sequence, versions.at(-1)!.rows]).toEqual([500, 600, 101, 7])
  expect(followers).toMatchObject([
    { name: 'far:8080', behind: 3, lagSeconds: 75, waiting: 'a version is damaged', isSilent: false },
    { name: 'near:8080', behind: 0, lagSeconds: 0, version: '20190720/599' },
  ])
  expect(followers[1]!.taken[0]).toMatchObject({ sequence: 2, lagSeconds: 1.5 })
  await dashboard.close()
  rmSync(own, { recursive: true, force: true })
})

test('who listens hears of a change', async () => {
  const { url, close } = await open()
  const response = await fetch(new URL('/api/live/', url))
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toContain('hello')
  writeFileSync(runPaths(join(folder, 'runs/one')).tags, '["new"]')
  expect((await reader.read()).value).toContain('event: changed')
  await reader.cancel()
  await close()
})

test('the policy names scripts and styles by their hashes, and nothing else may run', () => {
  const { policy } = readPage(page)
  expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+';/)
  expect(policy).not.toContain('unsafe')
})

test('a log is shown to the run that it has a note of, and nothing else that is called a log', () => {
  const [log, run] = [join(folder, 'workerlog.1'), join(folder, 'runs/one')]
  writeFileSync(log, 'one\n')
  expect(readLog(log, { run }, {})).toBeUndefined() // a record of a run may name it, which proves nothing
  noteRun(log, join(folder, 'runs'))
  expect(readLog(log, { run }, {})).toBeUndefined()
  noteRun(log, run)
  expect(readLog(log, { run }, { lines: Number.NaN })?.lines).toHaveLength(1)
  expect(readLog(log, { run, within: join(folder, 'runs') }, {})).toBeUndefined()
  expect(readLog('/etc', { run }, {})).toBeUndefined()
  expect(readLog(join(folder, 'missing.log'), { run }, {})).toBeUndefined()
  noteRun(page, run)
  expect(readLog(page, { run }, {})).toBeUndefined() // its name is none of a log
  const pipe = join(folder, 'pipe.log')
  execFileSync('mkfifo', [pipe])
  noteRun(pipe, run)
  expect(readLog(pipe, { run }, {})).toBeUndefined()
})

test('links, hard links, pipes and swapped folders lead nowhere', () => {
  const own = join(folder, 'own')
  mkdirSync(own)
  writeFileSync(join(folder, 'secret'), 'secret')
  writeFileSync(join(own, 'plain'), 'plain')
  symlinkSync(join(folder, 'secret'), join(own, 'link'))
  linkSync(join(folder, 'secret'), join(own, 'second-name'))
  symlinkSync(folder, join(own, 'events'))
  execFileSync('mkfifo', [join(own, 'pipe')])
  const read = readWithin(own)
  expect(read(join(own, 'plain')).toString()).toBe('plain')
  for (const name of ['link', 'second-name', 'events/secret', 'pipe', '.', '../secret'])
    expect(() => read(join(own, name)), name).toThrow()
  expect(readPlain(join(folder, 'secret')).toString()).toBe('secret')
  expect(() => readPlain(join(own, 'pipe'))).toThrow('no plain file')
  writeFileSync(join(own, 'holes'), '')
  truncateSync(join(own, 'holes'), 2 ** 30)
  expect(() => read(join(own, 'holes'))).toThrow('too large')
})

test('a look that fails does not end the dashboard, and the next one is told', async () => {
  vi.useFakeTimers()
  let stamp = (): string => 'one'
  const live = new LiveFeed(() => stamp())
  const response = Object.assign(new EventEmitter(), { writeHead: vi.fn(), write: vi.fn(), end: vi.fn() })
  live.add('run', response as unknown as ServerResponse)
  stamp = () => {
    throw new Error('unreadable')
  }
  vi.advanceTimersByTime(2000)
  stamp = () => 'two'
  vi.advanceTimersByTime(2000)
  expect(response.write).toHaveBeenLastCalledWith(expect.stringContaining('event: changed'))
  live.close()
  vi.useRealTimers()
})

test('the more people look at a run, the rarer they hear that it has changed', () => {
  vi.useFakeTimers()
  const told = (viewers: number) => {
    let changes = 0
    const live = new LiveFeed(() => String(changes++))
    const response = Object.assign(new EventEmitter(), { writeHead: vi.fn(), write: vi.fn(), end: vi.fn() })
    response.setMaxListeners(0)
    for (let i = 0; i < viewers; i++) live.add('run', Object.create(response) as ServerResponse)
    response.write.mockClear()
    vi.advanceTimersByTime(60_000)
    live.close()
    return response.write.mock.calls.filter(([text]) => String(text).includes('changed')).length / viewers
  }
  expect(told(1)).toBe(30)
  expect(told(50)).toBe(30)
  expect(told(200)).toBe(8)
  expect(told(1000)).toBe(2)
  vi.useRealTimers()
})

test('hints name who waits, who is late, and a server that answers later than the others', () => {
  const process = {
    role: 'worker',
    host: '',
    pid: 1,
    state: 'running',
    starts: 1,
    updatedAt: 0,
    hasLog: false,
    links: [],
    tables: [],
    parts: {},
  } as const
  const row = { state: 'running', isNewer: false } as never
  const processes = [0, 1, 2].map((rank) => ({
    ...process,
    rank,
    name: `worker-${rank}`,
    samplesPerSecond: rank === 2 ? 40 : 100,
    waiting: rank === 1 ? 0.5 : 0,
  }))
  expect(hintsOf({ row, processes, epochs: [], damaged: 3 })).toEqual([
    { kind: 'damaged', values: { count: 3 } },
    { kind: 'input', values: { who: 'worker-1', share: 50 } },
    { kind: 'late', values: { who: 'worker-2', share: 40 } },
  ])
  const link = { sentBytesPerSecond: 1, receivedBytesPerSecond: 1, busy: 0 }
  const links = [0, 1, 2].map((rank) => ({ to: `server-${rank}`, answerSeconds: rank === 1 ? 0.009 : 0.002, ...link }))
  const served = [0, 1].map((rank) => ({ ...process, rank, name: `worker-${rank}`, links }))
  expect(hintsOf({ row, processes: served, epochs: [], damaged: 0 })).toEqual([
    { kind: 'server', values: { who: 'server-1', own: 9, others: 2 } },
  ])
})
