/**
 * @file A server that follows online training, by the commands of the guide: slot_dnn is trained until its table has so many rows, then pass after pass changes 1 % of them. The
 * versions are shown to the server one by one, while it answers a steady stream of requests: how long until scores are of the new version, and what becomes of answers meanwhile.
 * The trainer has ended by then, as if it were on another machine.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { at, median, scratch, startServer } from './tools.ts'

const SLOTS = 300
const CHANGED = 0.01
const DELTAS = 20
const SHOW_EVERY_MS = 3000
const STEADY_SECONDS = 30
const REQUEST_EVERY_MS = 10
const MOST_LAG_SECONDS = 2
const MOST_TIMES = 1.3

interface Line {
  readonly day: string
  readonly pass: number
  publishedAt: string
}

export async function measureFollowing(rows: number): Promise<boolean> {
  const root = scratch('following')
  rmSync(root, { recursive: true, force: true })
  await writeData(join(root, 'data'), rows)
  const seconds = await train(root)
  const model = join(root, 'model')
  const log = join(model, 'versions.jsonl')
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as Line) // biome-ignore format: one line
  const show = (count: number) => {
    const shown = lines.slice(0, count)
    writeFileSync(`${log}.aside`, shown.map((line) => `${JSON.stringify(line)}\n`).join(''))
    renameSync(`${log}.aside`, log)
  }
  show(1)
  const { instances } = JSON.parse(readFileSync(join(model, '20190720/delta-1/inference/samples.json'), 'utf8')) as {
    readonly instances: readonly unknown[]
  }
  const server = await serve(model)
  try {
    const client = ask(server.url, instances.slice(0, 1))
    await pause(5000)
    client.take()
    await pause(1000 * STEADY_SECONDS)
    const steady = client.take()
    const lags: number[] = []
    for (const [i, line] of lines.entries()) {
      if (i === 0) continue
      line.publishedAt = new Date().toISOString()
      const seen = client.first(`${line.day}/${line.pass}`)
      show(i + 1)
      const at = await seen
      lags.push((at - Date.parse(line.publishedAt)) / 1000)
      await pause(Math.max(0, SHOW_EVERY_MS - 1000 * lags.at(-1)!))
    }
    const during = client.take()
    client.stop()
    const [lag, times] = [percentile(lags, 0.99), percentile(during, 0.99) / percentile(steady, 0.99)]
    console.log(`\n# a server that follows: ${rows} rows, ${lags.length} deltas of ${CHANGED * rows} rows each\n`)
    console.log(`delta in training ${median(seconds).toFixed(2)} s (median of ${seconds.length})`)
    console.log(`published to scored: p50 ${median(lags).toFixed(2)} s, p99 ${lag.toFixed(2)} s (at most ${MOST_LAG_SECONDS})`) // biome-ignore format: one line
    for (const [name, of] of Object.entries({ steady, during }))
      console.log(`${name}: ${of.length} answers, p50 ${percentile(of, 0.5).toFixed(2)} ms, p99 ${percentile(of, 0.99).toFixed(2)} ms, most ${Math.max(...of).toFixed(1)} ms`) // biome-ignore format: one line
    console.log(`p99 ${times.toFixed(2)} times that of steady (at most ${MOST_TIMES})`)
    return lag <= MOST_LAG_SECONDS && times <= MOST_TIMES
  } finally {
    await server.stop()
  }
}

/** One pass with every sign once, then passes with a hundredth of them. */
async function writeData(folder: string, rows: number): Promise<void> {
  const sampleOf = (first: (slot: number) => number, i: number) =>
    [`${Number(i % 4 === 0)}:1`, ...Array.from({ length: SLOTS }, (_, s) => `${1 + first(s)}:${s + 2}`)].join(' ')
  for (let pass = 0; pass <= DELTAS; pass++) {
    const split = join(folder, '20190720', `${String(pass).padStart(2, '0')}00`)
    mkdirSync(split, { recursive: true })
    const file = createWriteStream(join(split, 'part-0'))
    const samples = Math.ceil((pass === 0 ? rows : CHANGED * rows) / SLOTS)
    for (let i = 0; i < samples; i++) {
      const sign = (slot: number) => (pass === 0 ? i * SLOTS + slot : ((i * SLOTS + slot) * 97 + pass * 31) % rows)
      if (!file.write(`${sampleOf(sign, i)}\n`)) await once(file, 'drain')
    }
    file.end()
    await finished(file)
  }
}

/** Returns the seconds that each delta took. */
async function train(root: string): Promise<readonly number[]> {
  const runner = {
    ...{ train_data_dir: join(root, 'data'), model_save_path: join(root, 'model'), end_day: '20190720' },
    ...{ split_interval: 60, split_per_pass: 1, checkpoint_per_pass: 100, evaluate: 'none', thread_num: 2 },
    ...{ train_batch_size: 512, delta_format: 'oarfish', on_late_data: 'stop', data_wait_minutes: 0.001 },
  }
  const accessor = 'table_parameters.embedding.accessor'
  const words = [
    ...Object.entries(runner).map(([key, value]) => `runner.${key}=${value}`),
    ...[`${accessor}.embedx_threshold=0`, `${accessor}.ctr_accessor_param.base_threshold=0`],
  ]
  const config = at('models', 'rank', 'slot_dnn', 'config_online.yaml')
  const args = ['--max-old-space-size=8000', at('bin', 'oarfish.js'), 'train', '-m', config, '-o', ...words]
  const child = spawn(process.execPath, args, { cwd: root })
  const seconds: number[] = []
  let [text, last] = ['', '']
  for (const stream of [child.stdout, child.stderr])
    createInterface(stream).on('line', (line) => {
      last = line
      text = `${text}${line}\n`.slice(-4000)
      const found = /finished save delta model epoch (\d+) \[save_model: ([\d.e-]+) min\]/.exec(line)
      if (found && found[1] !== '1') seconds.push(60 * Number(found[2]))
    })
  await new Promise((resolve) => child.once('close', resolve))
  // The data of the pass behind the last are what it ends for.
  if (seconds.length !== DELTAS || !text.includes('no data after')) throw new Error(`training ended: ${text || last}`)
  return seconds
}

const serve = (model: string) => startServer(['--follow', model, '--threads', '1'])

/** A request every REQUEST_EVERY_MS, whether those before are answered or not; time counts from when it was due. */
function ask(url: string, instances: readonly unknown[]) {
  const agent = new Agent({ keepAlive: true })
  const body = JSON.stringify({ instances })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  let times: number[] = []
  let waited: { readonly version: string; readonly resolve: (at: number) => void } | undefined
  const begun = performance.now()
  let count = 0
  let isStopped = false
  const send = (due: number) => {
    const outgoing = request(`${url}/predict`, { agent, method: 'POST', headers }, (response) => {
      let text = ''
      response.on('data', (piece) => (text += piece))
      response.on('end', () => {
        times.push(performance.now() - due)
        if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}: ${text}`)
        if (!waited || !text.includes(`"${waited.version}"`)) return
        waited.resolve(Date.now())
        waited = undefined
      })
    })
    outgoing.on('error', (error) => {
      if (!isStopped) throw error
    })
    outgoing.end(body)
  }
  const timer = setInterval(() => {
    for (; begun + count * REQUEST_EVERY_MS <= performance.now(); count++) send(begun + count * REQUEST_EVERY_MS)
  }, REQUEST_EVERY_MS)
  return {
    take: () => {
      const taken = times
      times = []
      return taken
    },
    first: (version: string) => new Promise<number>((resolve) => (waited = { version, resolve })),
    stop: () => {
      isStopped = true
      clearInterval(timer)
      agent.destroy()
    },
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]!
}
