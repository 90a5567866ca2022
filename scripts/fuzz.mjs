/**
 * @file `npm run fuzz [-- --only yaml,slot --cases 1000000 --seed 1 --restart --processes 2]`: damaged input for everything that reads what others
 * wrote, a target a core at a time. Goes on where it was stopped. What goes wrong is kept in test/fuzz/cases/TARGET/, where `npm test` tries it again from then on.
 */
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { at, install, node, step } from './setup.mjs'

const STATE = at('.cache', 'fuzz.json')
const CASES = at('test', 'fuzz', 'cases')
/** No case of any target takes as long, on a machine that has much else to do; before the first of them everything is compiled. */
const SILENT_SECONDS = 60
const START_SECONDS = 600
const MEMORY_MB = 768
/** What a case leaves is dropped with all of its kind, and seldom: looking through it took a tenth of the time. */
const YOUNG_MB = 32
/** Cases between two words of how far it is. */
const EVERY = 500

/** Those of test/fuzz/targets.ts, which only a compiler can read. */
export const TARGET_NAMES = [
  ...[
    'message',
    'handshake',
    'gathered',
    'frame',
    'yaml',
    'config-v1',
    'backend',
    'slot',
    'multislot',
    'csv',
    'manifest',
    'export',
    'export-table',
  ],
  ...['instances', 'job-server', 'conf.py', 'command'],
]

/** Inputs that have once gone wrong, by target. */
export function keptCases(name) {
  const folder = `${CASES}/${name}`
  return existsSync(folder) ? readdirSync(folder).map((file) => `${folder}/${file}`) : []
}

/** Runs cases [from, to) of a target; resolves to what went wrong: `{ number, what, input }`, each told as it is found. */
export async function runCases(name, { seed = 1, from = 0, to, onProgress, onFinding }) {
  const findings = []
  const found = (finding) => {
    findings.push(finding)
    onFinding?.(finding)
  }
  for (let [at, every] = [from, EVERY]; at < to; ) {
    // One by one only as far as the word that did not come: the rest goes on as before.
    const end = every === 1 ? Math.min(to, at + EVERY) : to
    const { reached, died } = await inProcess([name, seed, at, end, every].map(String), found, onProgress)
    if (died === undefined) [at, every] = [end, EVERY]
    else if (reached === undefined) {
      found({ number: at, what: died })
      return findings
    }
    // Again, one by one, up to the case with which it ended; then past it.
    else if (every !== 1) [at, every] = [reached, 1]
    else {
      found({ number: reached, what: died, input: undefined })
      ;[at, every] = [reached + 1, EVERY]
    }
  }
  return findings
}

/** One kept input. */
export async function runKept(name, file) {
  const findings = []
  const { died } = await inProcess([name, '0', '0', '0', '1', file], (finding) => findings.push(finding))
  return died === undefined ? findings : [...findings, { number: -1, what: died }]
}

function inProcess(words, found, onProgress) {
  return new Promise((resolve) => {
    const jiti = at('node_modules', 'jiti', 'lib', 'jiti-register.mjs')
    const memory = [`--max-old-space-size=${MEMORY_MB}`, `--max-semi-space-size=${YOUNG_MB}`]
    const execArgv = [...memory, '--import', pathToFileURL(jiti).href]
    const env = { ...process.env, JITI_FS_CACHE: at('.cache', 'jiti') }
    const child = fork(at('test', 'fuzz', 'run-target.ts'), words, {
      execArgv,
      env,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let reached
    let printed = ''
    let why
    let left = START_SECONDS
    // Second by second: one timer would be over when a run that was stopped as a whole goes on.
    const timer = setInterval(() => {
      if (--left > 0) return
      why = `it hung: nothing for ${reached === undefined ? START_SECONDS : SILENT_SECONDS} s`
      child.kill('SIGKILL')
    }, 1000)
    child.stderr.on('data', (text) => {
      printed = `${printed}${text}`.slice(-4000)
    })
    child.on('message', (message) => {
      left = SILENT_SECONDS
      if (message.kind === 'finding') found(message)
      else {
        reached = message.number
        onProgress?.(reached)
      }
    })
    child.on('exit', (code, signal) => {
      clearInterval(timer)
      resolve({
        reached,
        died: code === 0 ? undefined : (why ?? `its process ended with ${code ?? signal}: ${printed}`),
      })
    })
  })
}

function keep(name, { number, what, input }) {
  if (input === undefined) return console.log(`x ${name}, case ${number}: ${what}`)
  const bytes = Buffer.from(input, 'base64')
  const file = `${CASES}/${name}/${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}`
  mkdirSync(`${CASES}/${name}`, { recursive: true })
  writeFileSync(file, bytes)
  console.log(`x ${name}, case ${number}, kept as ${file}:\n${what.split('\n').slice(0, 8).join('\n')}`)
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      cases: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: '1' },
      restart: { type: 'boolean', default: false },
      processes: { type: 'string', default: String(availableParallelism()) },
    },
  })
  if (!(await install()) || !(await step('build', async () => (await node(at('scripts', 'build.mjs'))) === 0))) return 1
  const names = values.only === '' ? TARGET_NAMES : values.only.split(',')
  const unknown = names.filter((name) => !TARGET_NAMES.includes(name))
  if (unknown.length > 0) {
    console.error(`no target ${unknown.join(', ')}: ${TARGET_NAMES.join(', ')}`)
    return 2
  }
  const run = {
    to: Number(values.cases),
    seed: Number(values.seed),
    reached: reachedCases(values.restart ? names : []),
  }
  const waiting = names.values()
  let failed = 0
  const work = async () => {
    for (const name of waiting) failed += await runTarget(name, run)
  }
  await Promise.all(Array.from({ length: Number(values.processes) }, work))
  return failed > 0 ? 1 : 0
}

/** How many cases of each target and seed were run, kept for the next time. */
function reachedCases(anew) {
  const state = existsSync(STATE) ? JSON.parse(readFileSync(STATE, 'utf8')) : {}
  const keyOf = (name, seed) => `${name} ${seed}`
  for (const key of Object.keys(state)) if (anew.includes(key.split(' ')[0])) delete state[key]
  mkdirSync(at('.cache'), { recursive: true })
  return {
    of: (name, seed) => state[keyOf(name, seed)] ?? 0,
    note: (name, seed, number) => {
      state[keyOf(name, seed)] = Math.max(state[keyOf(name, seed)] ?? 0, number)
      // By a name of its own first: a run that is ended meanwhile leaves what was there.
      writeFileSync(`${STATE}.new`, JSON.stringify(state))
      renameSync(`${STATE}.new`, STATE)
    },
  }
}

/** Resolves to how many cases went wrong. */
async function runTarget(name, { to, seed, reached }) {
  const from = reached.of(name, seed)
  const started = performance.now()
  const onProgress = (number) => {
    reached.note(name, seed, number)
    if (process.stdout.isTTY) process.stdout.write(`\r${name}: ${number} of ${to} cases `)
  }
  const onFinding = (finding) => keep(name, finding)
  const findings = await runCases(name, { seed, from, to, onProgress, onFinding })
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  const mark = findings.length === 0 ? '+' : 'x'
  console.log(`\r${mark} ${name}: cases ${from} to ${to} in ${seconds} s, ${findings.length} went wrong`)
  return findings.length
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = await main()
