/**
 * @file What being safe costs. After `npm run build`, on a quiet machine:
 *   node bench/security.mjs tls [ROUNDS]               bytes a second over one TCP connection of this host, plain and encrypted by turns: a minute
 *   node bench/security.mjs tls-job [ROUNDS] [SECONDS] batches a second of workers and a server over TCP, async and sync, plain and encrypted by turns: two minutes
 *   node bench/security.mjs flood [ROUNDS] [SECONDS] [RATE] [QUIET]  what 1,000 wrong hellos a second for a minute cost a server, and a job: five minutes
 * JSON lines; the last has the figure and whether it is reached. Rates need a quiet machine; processor time, of both processes, hardly does.
 */
import { fork, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

const TICKS_A_SECOND = 100 // of Linux's /proc
/** Workers by how they talk to the server. */
const JOBS = [
  { mode: 'async', workers: 1 },
  { mode: 'sync', workers: 2 },
]

/** The job has this core for itself; strangers, and the process that counts, have the other: what they do themselves does not slow the job. */
const [JOB_CORE, OTHER_CORE] = ['0', '1']

const PARTS = { tls, 'tls-job': tlsJob, flood, echo }
await PARTS[process.argv[2]]?.(...process.argv.slice(3))

/** A request of `bytes` and an answer as long, several under way, for a while; megabytes a second both ways together. */
async function tls(rounds = '7') {
  const { Peer, openTls, socketTransport, clientHandshake } = await import(at('dist/base/net/index.js'))
  const keys = openTls('auto', { token: 'bench' })
  const identity = { jobId: 'bench', token: 'bench', role: 'worker', rank: 0, agreement: {} }
  const child = fork(fileURLToPath(import.meta.url), ['echo'])
  const endpoints = await new Promise((resolve) => child.once('message', resolve))
  const ratios = []
  const ofProcessor = []
  const cpu = () => processorSeconds(process.pid) + processorSeconds(child.pid)
  for (const bytes of [16 * 1024, 256 * 1024, 4 * 1024 * 1024]) {
    const rates = { plain: [], encrypted: [] }
    const spent = { plain: 0, encrypted: 0 }
    const moved = { plain: 0, encrypted: 0 }
    for (let round = 0; round < Number(rounds); round++) {
      for (const [kind, tls] of [
        ['plain', undefined],
        ['encrypted', keys],
      ]) {
        const connection = await socketTransport.connect(endpoints[kind], { timeoutMs: 10_000, tls })
        await clientHandshake(connection, 'bench', identity)
        const peer = new Peer(connection, { who: 'bench', deadAfterMs: 60_000 })
        const before = cpu()
        const { megabytes, seconds } = await echoed(peer, bytes)
        spent[kind] += cpu() - before
        moved[kind] += megabytes
        rates[kind].push(megabytes / seconds)
        peer.leave()
      }
    }
    const [plain, encrypted] = [median(rates.plain), median(rates.encrypted)]
    ratios.push(encrypted / plain)
    const microsecondsOf = (kind) => (spent[kind] * 1e6) / moved[kind]
    ofProcessor.push(microsecondsOf('plain') / microsecondsOf('encrypted'))
    say({
      ...{ bytes, plainMBs: Math.round(plain), tlsMBs: Math.round(encrypted), ratio: round3(encrypted / plain) },
      ...{
        plainMicrosecondsAMB: round3(microsecondsOf('plain')),
        tlsMicrosecondsAMB: round3(microsecondsOf('encrypted')),
      },
      processorRatio: round3(ofProcessor.at(-1)),
    })
  }
  child.kill()
  say({
    name: 'TLS beside plain TCP, the least of all sizes',
    ratio: round3(Math.min(...ratios)),
    processorRatio: round3(Math.min(...ofProcessor)),
    reached: Math.min(...ratios) >= 0.8,
  })
  process.exit(0)
}

async function echoed(peer, bytes) {
  const body = new Uint8Array(bytes).fill(7)
  const [began, until] = [performance.now(), performance.now() + 1500]
  let done = 0
  const ask = async () => {
    while (performance.now() < until) {
      await peer.request(1, [body], { timeoutMs: 60_000, what: 'bench' })
      done++
    }
  }
  await Promise.all([ask(), ask(), ask(), ask()])
  return { megabytes: (2 * done * bytes) / 1e6, seconds: (performance.now() - began) / 1000 }
}

/** The other process of `tls`. */
async function echo() {
  const { Peer, openTls, socketTransport, serverHandshake } = await import(at('dist/base/net/index.js'))
  const identity = { jobId: 'bench', token: 'bench', role: 'server', rank: 0, agreement: {} }
  const accept = (connection) =>
    void serverHandshake(connection, identity).then(
      () => new Peer(connection, { who: 'bench', handle: async (_, body) => [body], deadAfterMs: 60_000 }),
    )
  const open = async (tls) => (await socketTransport.listen('127.0.0.1:0', accept, { tls })).endpoint
  process.send({ plain: await open(undefined), encrypted: await open(openTls('auto', { token: 'bench' })) })
}

/** Workers and a server that talk TCP, as on several hosts: batches of 512 samples of the CTR DNN. */
async function tlsJob(rounds = '3', seconds = '6') {
  const folder = mkdtempSync(join(tmpdir(), 'bench-tls-job-'))
  const rows = ['part-000', 'part-001'].map((name) =>
    readFileSync(at(`models/rank/dnn/data/sample_data/train/${name}`)),
  )
  mkdirSync(join(folder, 'train'))
  for (let copy = 0; copy < 50; copy++) writeFileSync(join(folder, 'train', `part-${copy}`), Buffer.concat(rows))
  for (const job of JOBS) {
    const found = { plain: [], encrypted: [] }
    for (let round = 0; round < Number(rounds); round++)
      for (const kind of ['plain', 'encrypted']) {
        const one = await overTcp(folder, kind, job, 1000 * Number(seconds))
        found[kind].push(one)
        say({ ...job, round, kind, batchesASecond: round3(one.batches), processorMsABatch: round3(one.cpuMs) })
      }
    const of = (kind, name) => round3(median(found[kind].map((each) => each[name])))
    const ratio = round3(of('encrypted', 'batches') / of('plain', 'batches'))
    for (const kind of ['plain', 'encrypted'])
      say({ ...job, kind, batchesASecond: of(kind, 'batches'), processorMsABatch: of(kind, 'cpuMs') })
    const processorRatio = round3(of('plain', 'cpuMs') / of('encrypted', 'cpuMs'))
    say({ name: 'a job over TLS beside the same over TCP', ...job, ratio, processorRatio, reached: ratio >= 0.8 })
  }
  rmSync(folder, { recursive: true, force: true })
  process.exit(0)
}

/** Batches a second of all workers, and milliseconds of processor a batch of all processes. */
async function overTcp(folder, kind, { mode, workers }, ms) {
  const own = mkdtempSync(join(folder, 'tmp-'))
  const overrides = [
    ...[
      `runner.train_data_dir=${folder}/train`,
      `runner.test_data_dir=${folder}/train`,
      'runner.epochs=1000',
      'runner.print_interval=1',
    ],
    ...['runner.thread_num=1', `runner.sync_mode=${mode}`, 'runner.model_save_path='],
    ...(kind === 'encrypted' ? ['runner.tls=auto'] : []),
  ]
  const start = jobStarter({
    folder,
    config: at('models/rank/dnn/config_bigdata.yaml'),
    overrides,
    server: await freeAddress(),
    workers,
  })
  const serving = start('server', { TMPDIR: own })
  await heard(serving, kind === 'encrypted' ? `(${mode}, TLS)` : `(${mode})`)
  // Without its unix socket a server is reached as from another host.
  for (const name of readdirSync(own)) if (name.endsWith('.sock')) rmSync(join(own, name))
  const started = Array.from({ length: workers }, (_, rank) => start('worker', {}, rank))
  const counts = started.map(batchesOf)
  const count = () => counts.reduce((sum, each) => sum + each(), 0)
  while (count() < 20 * workers) await sleep(50)
  const cpu = () => [serving, ...started].reduce((sum, { pid }) => sum + processorSeconds(pid), 0)
  const [before, began, spent] = [count(), performance.now(), cpu()]
  await sleep(ms)
  const batches = count() - before
  const result = { batches: batches / ((performance.now() - began) / 1000), cpuMs: ((cpu() - spent) * 1000) / batches }
  for (const child of [serving, ...started]) child.kill('SIGKILL')
  return result
}

function heard(child, words) {
  return new Promise((resolve) => {
    let all = ''
    child.stdout.on('data', (piece) => {
      all += piece
      if (all.includes(words)) resolve()
    })
  })
}

function batchesOf(worker) {
  let count = 0
  eachLine(worker, (line) => {
    if (line.startsWith('{"kind":"batch"')) count++
  })
  return () => count
}

function eachLine(child, take) {
  let rest = ''
  child.stdout.on('data', (piece) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()
    for (const line of lines) take(line)
  })
}

/** Starts one process of a job of one server, where `core` is named on this alone. */
function jobStarter({ folder, config, overrides, server, workers = 1, core }) {
  const shared = {
    servers: [server],
    workers: [],
    workerNum: workers,
    jobId: 'bench',
    token: 'a secret',
    inherited: {},
  }
  return (role, env = {}, rank = 0) => {
    const endpoint = role === 'server' ? server : ''
    const task = JSON.stringify({ path: config, overrides, cluster: { ...shared, role, rank, endpoint } })
    const options = { cwd: folder, env: { ...process.env, ...env } }
    const command = [process.execPath, at('test/ps/process.mjs'), task]
    const [program, ...words] = core === undefined ? command : ['taskset', '-c', core, ...command]
    const child = spawn(program, words, options)
    child.stderr.pipe(process.stderr)
    child.stdout.on('data', (piece) => {
      if (piece.includes('"kind":"failed"')) process.stderr.write(piece)
    })
    child.once('exit', (code) => {
      if (code === null) return
      say({ failed: role, code })
      process.exit(1)
    })
    return child
  }
}

/**
 * A server is alone with strangers first: what they cost it is counted in processor time. Then one worker and the server train; minutes with
 * strangers stand between quiet times, and each is compared with the two around it. That they came is known from the server's own log.
 */
async function flood(rounds = '3', seconds = '60', perSecond = '1000', quietSeconds = '20') {
  const folder = mkdtempSync(join(tmpdir(), 'bench-flood-'))
  const config = at('models/rank/dnn/config.yaml')
  const server = await freeAddress()
  const overrides = ['runner.epochs=1000000', 'runner.print_interval=1', 'runner.model_save_path=']
  spawnSync('taskset', ['-apc', OTHER_CORE, String(process.pid)], { stdio: 'ignore' })
  const start = jobStarter({ folder, config, overrides, server, core: JOB_CORE })
  const serving = start('server')
  const refusals = refusalsOf(serving)
  await heard(serving, 'listens at')
  const strangersAt = async (target, forSeconds, rate = perSecond) => {
    const attacker = spawn(process.execPath, [at('test/attack/attacker.mjs'), 'flood', target, forSeconds, rate])
    return JSON.parse(await text(attacker.stdout))
  }
  /** Sends strangers; resolves to how many knocked, how many of these the server has counted, and in how many lines. */
  const counted = async (forSeconds) => {
    const before = { ...refusals }
    const { sent, refused } = await strangersAt(server, forSeconds)
    const lines = refusals.lines - before.lines
    await sleep(1500)
    const late = await strangersAt(server, '1', '5') // the line about these counts what came after the last line
    await sleep(1000)
    return { sent: sent - refused, seen: refusals.count - before.count - late.sent, lines }
  }
  const cpu = () => processorSeconds(serving.pid)
  const cpuOf = async (work) => {
    const [before, began] = [cpu(), performance.now()]
    const result = await work()
    return { ...result, cpu: cpu() - before, elapsed: (performance.now() - began) / 1000 }
  }
  await sleep(2000)
  const idle = await cpuOf(() => sleep(5000))
  const alone = await cpuOf(() => counted('10'))
  const microsecondsAHello = ((alone.cpu - (idle.cpu / idle.elapsed) * alone.elapsed) * 1e6) / alone.seen
  say({
    name: 'a server without workers',
    ...{ sent: alone.sent, seen: alone.seen },
    microsecondsAHello: round3(microsecondsAHello),
  })

  const worker = start('worker')
  const count = batchesOf(worker)
  while (count() < 100) await sleep(100)
  await sleep(5000)
  const during = async (ms) => {
    const [before, began] = [count(), performance.now()]
    await sleep(ms)
    return (count() - before) / ((performance.now() - began) / 1000)
  }
  const quiet = [await during(1000 * Number(quietSeconds))]
  const floods = []
  for (let round = 0; round < Number(rounds); round++) {
    const coming = counted(seconds)
    await sleep(300) // until its process has started
    const batches = await during(1000 * (Number(seconds) - 1))
    floods.push({ batches, ...(await coming) })
    quiet.push(await during(1000 * Number(quietSeconds)))
    const slower = 1 - batches / ((quiet[round] + quiet[round + 1]) / 2)
    floods[round].slower = slower
    const { sent, seen, lines } = floods[round]
    say({
      round,
      batches: round3(batches),
      quiet: quiet.slice(-2).map(round3),
      slower: round3(slower),
      sent,
      seen,
      lines,
    })
  }
  for (const child of [serving, worker]) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  const sum = (name) => floods.reduce((total, each) => total + each[name], 0)
  const hellos = Number(rounds) * Number(seconds) * Number(perSecond)
  say({
    name: 'hellos that the server counted',
    sent: sum('sent'),
    seen: sum('seen'),
    reached: sum('seen') >= 0.95 * hellos,
  })
  const lines = Math.max(...floods.map((each) => each.lines)) / Number(seconds)
  say({ name: 'lines a second', value: round3(lines), reached: lines <= 1 + 1 / Number(seconds) })
  const share = (microsecondsAHello * Number(perSecond)) / 1e6
  say({ name: 'of one processor, for the server to refuse them', value: round3(share) })
  const slower = floods.map((each) => each.slower)
  const [least, most] = [Math.min(...slower), Math.max(...slower)].map(round3)
  const value = round3(median(slower))
  say({ name: 'slower while strangers come, the job on a core of its own', value, least, most, reached: value < 0.05 })
  process.exit(0)
}

/** Lines of a server's log about connections that it refused, and how many connections these lines count; kept up to date. */
function refusalsOf(serving) {
  const refusals = { lines: 0, count: 0 }
  eachLine(serving, (line) => {
    const found = /A connection was refused(?: \(and (\d+) more)?/.exec(line)
    if (!found) return
    refusals.lines++
    refusals.count += 1 + Number(found[1] ?? 0)
  })
  return refusals
}

/** Of a process, all its threads. */
function processorSeconds(pid) {
  const words = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(words[11]) + Number(words[12])) / TICKS_A_SECOND
}

function round3(value) {
  return Math.round(value * 1000) / 1000
}

async function freeAddress() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return `127.0.0.1:${port}`
}
