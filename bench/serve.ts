/**
 * @file `oarfish serve` under load: the CTR DNN, one sample a request, 64 connections; then the same while exports are replaced.
 * The client is wrk where it is or can be installed, else a plain one in this process. Prints a JSON line per figure.
 */
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { at, scratch, startServer } from './tools.ts'

const CONNECTIONS = 64
const RELOAD_EVERY_MS = 2000
const [seconds = '10', threads = '1'] = process.argv.slice(2)

interface Load {
  readonly client: string
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly errors: number
}

/** wrk sends the lines in turn and prints one JSON line. */
const LUA = `
local bodies = {}
for line in io.lines(LINES) do bodies[#bodies + 1] = line .. "\\n" end
local next = 0
request = function()
  next = next % #bodies + 1
  return wrk.format("POST", nil, { ["content-type"] = "text/plain" }, bodies[next])
end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requestsPerSecond":%.0f,"p50Ms":%.2f,"p99Ms":%.2f,"maxMs":%.2f,"errors":%d}\\n',
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    latency.max / 1000, e.connect + e.read + e.write + e.status + e.timeout))
end
`

const models = prepareExports()
const lines = testLines()
const load = findWrk() ? wrk : ownClient
const server = await startServer(['--model', models, '--threads', threads, '--poll-ms', '200'])
try {
  await load(server.url, 2) // threads are compiled, caches are filled
  print('steady', await load(server.url, Number(seconds)), 0)
  const reloads = publishing(models)
  const during = await load(server.url, Number(seconds))
  print('while exports are replaced', during, await reloads.stop(server.url))
} finally {
  await server.stop()
}

function print(name: string, figures: Load, reloads: number): void {
  console.log(JSON.stringify({ name, connections: CONNECTIONS, threads: Number(threads), reloads, ...figures }))
}

/** Two epochs of the bundled sample: folder `0` is served first, `next` is what appears later. */
function prepareExports(): string {
  const folder = scratch('serve')
  rmSync(folder, { recursive: true, force: true })
  const save = `runner.model_save_path=${join(folder, 'checkpoints')}`
  const config = at('models', 'rank', 'dnn', 'config.yaml')
  oarfish('train', '-m', config, '-o', save, 'runner.epochs=2')
  for (const epoch of ['0', '1'])
    oarfish('export', '-m', config, '-o', save, '--epoch', epoch, '--out', join(folder, `epoch-${epoch}`))
  mkdirSync(join(folder, 'models'))
  cpSync(join(folder, 'epoch-0'), join(folder, 'models', '0'), { recursive: true })
  return join(folder, 'models')
}

function oarfish(...args: string[]): void {
  const { status, stderr } = spawnSync(process.execPath, [at('bin', 'oarfish.js'), ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

function testLines(): string[] {
  const folder = at('models', 'rank', 'dnn', 'data', 'sample_data', 'test')
  const text = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  return text.join('').trim().split('\n')
}

/** Puts a newer export into the folder again and again. */
function publishing(folder: string) {
  let epoch = 1
  const publish = () => {
    cpSync(join(folder, '..', `epoch-${epoch % 2}`), join(folder, '..', 'aside'), { recursive: true })
    renameSync(join(folder, '..', 'aside'), join(folder, String(epoch)))
    epoch++
  }
  publish()
  const timer = setInterval(publish, RELOAD_EVERY_MS)
  return {
    stop: async (url: string) => {
      clearInterval(timer)
      const text = await (await fetch(`${url}/metrics`)).text()
      return Number(/oarfish_reloads_total\{result="ok"\} (\d+)/.exec(text)?.[1] ?? 0)
    },
  }
}

/** wrk is a Debian package; root may install it. */
function findWrk(): boolean {
  const found = () => spawnSync('wrk', ['--version']).error === undefined
  if (!found() && process.getuid?.() === 0) spawnSync('apt-get', ['install', '-y', 'wrk'])
  return found()
}

async function wrk(url: string, duration: number): Promise<Load> {
  const [script, body] = [scratch('serve', 'wrk.lua'), scratch('serve', 'lines.txt')]
  writeFileSync(body, `${lines.join('\n')}\n`)
  writeFileSync(script, LUA.replace('LINES', JSON.stringify(body)))
  const child = spawn('wrk', ['-t2', `-c${CONNECTIONS}`, `-d${duration}s`, '-s', script, `${url}/predict`])
  let out = ''
  child.stdout.on('data', (data) => {
    out += data
  })
  await new Promise((resolve) => child.once('close', resolve))
  return { client: 'wrk', ...JSON.parse(/^\{.*\}$/m.exec(out)![0]) }
}

/** Closed loop: each connection asks again when it is answered. */
async function ownClient(url: string, duration: number): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const times: number[] = []
  let [errors, asked] = [0, 0]
  const end = performance.now() + duration * 1000
  const ask = () =>
    new Promise<void>((resolve) => {
      const started = performance.now()
      const sent = request(
        `${url}/predict`,
        { agent, method: 'POST', headers: { 'content-type': 'text/plain' } },
        (answer) => {
          answer.resume().once('end', () => {
            if (answer.statusCode === 200) times.push(performance.now() - started)
            else errors++
            resolve()
          })
        },
      )
      sent.once('error', () => {
        errors++
        resolve()
      })
      sent.end(lines[asked++ % lines.length])
    })
  const connection = async () => {
    while (performance.now() < end) await ask()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, connection))
  agent.destroy()
  times.sort((a, b) => a - b)
  const percentile = (share: number) => Number((times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(2))
  return {
    client: 'own client, since wrk is not here',
    requestsPerSecond: Math.round(times.length / duration),
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    maxMs: percentile(1),
    errors,
  }
}
