/**
 * @file What the dashboard promises, in Debian's chromium: `npx jiti bench/dashboard.ts`. Size of the page, first paint with 1,000 runs, 50 processes of 100,000
 * rows opened and panned, processor time of 200 viewers, and of recording an event. Prints a table.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { loadConfig } from '../src/base/config/index.ts'
import { batch } from '../src/base/event/example.testing.ts'
import { openRecorder } from '../src/base/runs/index.ts'
import { writeRun } from '../src/jobs/dashboard/example-run.testing.ts'
import { readPage } from '../src/jobs/dashboard/index.ts'
import { normsOf } from '../src/training/step/norms.ts'
import type { BatchParams, DenseLayout } from '../src/weights/params/index.ts'
import { at, scratch } from './tools.ts'

const RUNS = 1000
const [PROCESSES, ROWS] = [50, 100_000]
const VIEWERS = 200
const EVENTS = 50_000
/** What the compositor says of each frame that it draws, in the browser's tracing. */
const FRAME = 'DrawFrame'
const PAN_MS = 4000
const MEASURED = 2000
/** Processor time of a batch of 512 (docs/guide/security.md). */
const BATCH_MICROS = 23_000
/** Clock ticks a second of /proc/PID/stat. */
const TICKS = 100

const folder = mkdtempSync(scratch('dashboard-'))
const lines: [string, string, string][] = []
const note = (what: string, measured: string, aim: string) => {
  lines.push([what, measured, aim])
  process.stderr.write(`${what}: ${measured} (aim ${aim})\n`)
}

try {
  note('page, gzipped', `${(readPage().zipped.length / 1000).toFixed(1)} kB`, '250 kB')
  recording()
  norms()
  for (let i = 0; i < RUNS; i++) writeRun(join(folder, `many/runs/run-${i}`), { rows: 20, learningRate: 1 / (i + 1) })
  writeRun(join(folder, 'large/runs/large'), { rows: ROWS, workers: PROCESSES })
  writeRun(join(folder, 'live/runs/live'), { rows: 1000, workers: 4, state: 'running' })
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  await manyRuns(browser)
  await largeRun(browser)
  await browser.close()
  await viewers()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write(
  `| what | measured | aim |\n| --- | --- | --- |\n${lines.map((line) => `| ${line.join(' | ')} |\n`).join('')}`,
)

/** Attributed: processor time of an event of a printed batch, beside that of a step of the benchmark's model. */
function recording(): void {
  const config = loadConfig({
    path: at('models/rank/dnn/config.yaml'),
    overrides: [`runner.run_dir=${join(folder, 'recorded')}`],
  })
  const recorder = openRecorder({ config, env: {}, emit: () => undefined })!
  const breakdown = { load: 1e-4, lookup: 6e-4, gather: 3e-4, run: 12e-4, merge: 2e-4, update: 3e-4 }
  const before = process.cpuUsage()
  for (let i = 0; i < EVENTS; i++)
    recorder.add(batch({ batch: i, samples: 512 * i, metrics: { loss: 0.5, auc: 0.7 }, breakdown }))
  recorder.end('done')
  const { user, system } = process.cpuUsage(before)
  const micros = (user + system) / EVENTS
  note(
    'recording an event of a printed batch',
    `${micros.toFixed(1)} microseconds: ${((100 * micros) / BATCH_MICROS).toFixed(3)} % of the 23 ms of processor time of a batch of 512 (docs/guide/security.md), were every batch printed`,
    '1 %',
  )
}

/**
 * Attributed: processor time of the norms of a batch as large as that of the benchmark's model, over the 64 batches from one look to the next. By the plain
 * loop, which is slower than the kernel that most steps have: no more than this.
 */
function norms(): void {
  const [trainable, rows] = [294_000, 512 * 26 * 9]
  const filled = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(i))
  const tables = [{ rows: filled(rows), gradients: filled(rows) }]
  const share = { weights: filled(trainable), gradients: filled(trainable), tables } as unknown as BatchParams
  const measure = () => normsOf(share, { trainable } as DenseLayout, undefined as never, new ArrayBuffer(0))
  for (let i = 0; i < 100; i++) measure()
  const before = process.cpuUsage()
  for (let i = 0; i < MEASURED; i++) measure()
  const { user, system } = process.cpuUsage(before)
  const micros = (user + system) / MEASURED
  const share64 = ((100 * micros) / 64 / BATCH_MICROS).toFixed(3)
  note('norms, every 64 batches', `${micros.toFixed(0)} microseconds each time: ${share64} % of a batch`, '1 %')
}

interface Served {
  readonly url: string
  readonly pid: number
  close(): void
}

async function serve(name: string): Promise<Served> {
  const child = spawn(process.execPath, [at('bin/oarfish.js'), 'dashboard', join(folder, name), '--port', '0'])
  const text = await new Promise<string>((done) => child.stdout.once('data', (piece) => done(String(piece))))
  return { url: /http:\S+/.exec(text)![0], pid: child.pid!, close: () => void child.kill('SIGTERM') }
}

async function manyRuns(browser: Browser): Promise<void> {
  const server = await serve('many')
  for (const when of ['first visit', 'next visit']) {
    const page = await browser.newPage()
    await page.goto(server.url)
    await page.waitForSelector('body[data-ready]')
    const [paint, ready] = await page.evaluate<[number, number]>(
      `[performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.now()]`,
    )
    note(
      `first paint with ${RUNS} runs, ${when}`,
      `${(paint / 1000).toFixed(2)} s; the table is there after ${(ready / 1000).toFixed(2)} s`,
      '1 s',
    )
    await page.close()
  }
  server.close()
}

async function largeRun(browser: Browser): Promise<void> {
  const server = await serve('large')
  const { runs } = (await (await fetch(`${server.url}api/runs`)).json()) as { runs: { id: string }[] }
  const page = await browser.newPage()
  const started = performance.now()
  await page.goto(`${server.url}#/run/${runs[0]!.id}`)
  await page.waitForSelector('.chart canvas', { timeout: 120_000 })
  await page
    .getByText(/of 5,000,000 points|of 5.00M points/)
    .first()
    .waitFor({ timeout: 120_000 })
  note(`${PROCESSES} processes of ${ROWS} rows open`, `${((performance.now() - started) / 1000).toFixed(2)} s`, '2 s')
  note('frames a second while panning', await frames(page), '30')
  await page.close()
  server.close()
}

/** By the browser's own tracing: frames that its compositor has drawn while a chart that is zoomed in moves by the arrow key. */
async function frames(page: Page): Promise<string> {
  await page.locator('.plot').first().focus()
  for (let i = 0; i < 3; i++) await page.keyboard.press('+')
  const session = await page.context().browser()!.newBrowserCDPSession()
  const times: number[] = []
  const keep = ({ value }: { value: readonly TraceEvent[] }) => {
    for (const { name, ts } of value) if (name === FRAME) times.push(ts / 1000)
  }
  session.on('Tracing.dataCollected', keep as never)
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['disabled-by-default-devtools.timeline.frame'], excludedCategories: ['*'] },
  })
  const until = performance.now() + PAN_MS
  for (let i = 0; performance.now() < until; i++) await page.keyboard.press(i % 40 < 20 ? 'ArrowRight' : 'ArrowLeft')
  const whole = new Promise<void>((done) => session.once('Tracing.tracingComplete', () => done()))
  await session.send('Tracing.end')
  await whole
  await session.detach()
  return frameText(times.sort((a, b) => a - b))
}

interface TraceEvent {
  readonly name: string
  /** Microseconds. */
  readonly ts: number
}

function frameText(times: readonly number[]): string {
  const gaps = times
    .slice(1)
    .map((at, i) => at - times[i]!)
    .sort((a, b) => a - b)
  if (gaps.length === 0) return 'the trace has no frames'
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const late = gaps[Math.floor(gaps.length * 0.95)]!.toFixed(0)
  return `${(1000 / mean).toFixed(0)} of ${times.length} drawn (95th percentile of a frame ${late} ms)`
}

/** Everybody listens, and asks anew for the run and its curves when it has changed, as the page does. */
async function viewers(): Promise<void> {
  const server = await serve('live')
  const { runs } = (await (await fetch(`${server.url}api/runs`)).json()) as { runs: { id: string }[] }
  const { id } = runs[0]!
  const stop = new AbortController()
  let asked = 0
  const view = async () => {
    const response = await fetch(`${server.url}api/live/${id}`, { signal: stop.signal })
    for await (const piece of response.body!) {
      if (!Buffer.from(piece).includes('changed')) continue
      for (const path of [`api/runs/${id}`, `api/charts/${id}?y=loss,auc&points=500`])
        await (await fetch(`${server.url}${path}`)).arrayBuffer()
      asked++
    }
  }
  const all = Array.from({ length: VIEWERS }, () => view().catch(() => undefined))
  await pause(3000)
  const seconds = 20
  const before = cpuSeconds(server.pid)
  for (let i = 0; i < seconds / 2; i++) {
    writeRun(join(folder, 'live/runs/live'), { rows: 1000 + i, workers: 4, state: 'running' })
    await pause(2000)
  }
  const used = (cpuSeconds(server.pid) - before) / seconds
  stop.abort()
  await Promise.all(all)
  note(
    `${VIEWERS} viewers of a run that changes every 2 s`,
    `${(100 * used).toFixed(1)} % of a core (${asked} times the run was asked for)`,
    '5 %',
  )
  server.close()
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
