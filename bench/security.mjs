/**
 * @file What being safe costs. After `npm run build`, on a quiet machine:
 *   node bench/security.mjs tls [ROUNDS]               bytes a second over one TCP connection of this host, plain and encrypted by turns: a minute
 *   node bench/security.mjs tls-job [ROUNDS] [SECONDS] batches a second of a worker and a server over TCP, plain and encrypted by turns: a minute
 *   node bench/security.mjs flood                      samples a second of a job while strangers say 1,000 wrong hellos a second for a minute
 * JSON lines; the last has the figure and whether it is reached. Rates need a quiet machine; processor time, of both processes, hardly does.
 */
import { fork, spawn } from 'node:child_process'
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

/** A worker and a server that talk TCP, as on two hosts: batches of 512 samples of the CTR DNN. */
async function tlsJob(rounds = '3', seconds = '6') {
  const folder = mkdtempSync(join(tmpdir(), 'bench-tls-job-'))
  const rows = ['part-000', 'part-001'].map((name) =>
    readFileSync(at(`models/rank/dnn/data/sample_data/train/${name}`)),
  )
  mkdirSync(join(folder, 'train'))
  for (let copy = 0; copy < 50; copy++) writeFileSync(join(folder, 'train', `part-${copy}`), Buffer.concat(rows))
  const found = { plain: [], encrypted: [] }
  for (let round = 0; round < Number(rounds); round++)
    for (const kind of ['plain', 'encrypted']) {
      const one = await overTcp(folder, kind, 1000 * Number(seconds))
      found[kind].push(one)
      say({ round, kind, batchesASecond: round3(one.batches), processorMsABatch: round3(one.cpuMs) })
    }
  rmSync(folder, { recursive: true, force: true })
  const of = (kind, name) => round3(median(found[kind].map((each) => each[name])))
  const ratio = round3(of('encrypted', 'batches') / of('plain', 'batches'))
  for (const kind of ['plain', 'encrypted'])
    say({ kind, batchesASecond: of(kind, 'batches'), processorMsABatch: of(kind, 'cpuMs') })
  const processorRatio = round3(of('plain', 'cpuMs') / of('encrypted', 'cpuMs'))
  say({ name: 'a job over TLS beside the same over TCP', ratio, processorRatio, reached: ratio >= 0.8 })
  process.exit(0)
}

/** Batches a second, and milliseconds of processor a batch of both processes. */
async function overTcp(folder, kind, ms) {
  const own = mkdtempSync(join(folder, 'tmp-'))
  const overrides = [
    ...[
      `runner.train_data_dir=${folder}/train`,
      `runner.test_data_dir=${folder}/train`,
      'runner.epochs=1000',
      'runner.print_interval=1',
    ],
    ...['runner.thread_num=1', 'runner.sync_mode=async', 'runner.model_save_path='],
    ...(kind === 'encrypted' ? ['runner.tls=auto'] : []),
  ]
  const start = jobStarter({
    folder,
    config: at('models/rank/dnn/config_bigdata.yaml'),
    overrides,
    server: await freeAddress(),
  })
  const serving = start('server', { TMPDIR: own })
  await heard(serving, kind === 'encrypted' ? '(async, TLS)' : '(async)')
  // Without its unix socket a server is reached as from another host.
  for (const name of readdirSync(own)) if (name.endsWith('.sock')) rmSync(join(own, name))
  const worker = start('worker')
  const count = batchesOf(worker)
  while (count() < 20) await sleep(50)
  const cpu = () => processorSeconds(serving.pid) + processorSeconds(worker.pid)
  const [before, began, spent] = [count(), performance.now(), cpu()]
  await sleep(ms)
  const batches = count() - before
  const result = { batches: batches / ((performance.now() - began) / 1000), cpuMs: ((cpu() - spent) * 1000) / batches }
  for (const child of [serving, worker]) child.kill('SIGKILL')
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
  let [count, rest] = [0, '']
  worker.stdout.setEncoding('utf8').on('data', (piece) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()
    for (const line of lines) if (line.startsWith('{"kind":"batch"')) count++
  })
  return () => count
}

/** Starts one process of a job of one worker and one server. */
function jobStarter({ folder, config, overrides, server }) {
  const shared = { servers: [server], workers: [], workerNum: 1, jobId: 'bench', token: 'a secret', inherited: {} }
  return (role, env = {}) => {
    const endpoint = role === 'server' ? server : ''
    const task = JSON.stringify({ path: config, overrides, cluster: { ...shared, role, rank: 0, endpoint } })
    const options = { cwd: folder, env: { ...process.env, ...env } }
    const child = spawn(process.execPath, [at('test/ps/process.mjs'), task], options)
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

/** One worker and one server train; strangers come in between two quiet times. */
async function flood(seconds = '60', perSecond = '1000') {
  const folder = mkdtempSync(join(tmpdir(), 'bench-flood-'))
  const config = at('models/rank/dnn/config.yaml')
  const server = await freeAddress()
  const overrides = ['runner.epochs=1000000', 'runner.print_interval=1', 'runner.model_save_path=']
  const start = jobStarter({ folder, config, overrides, server })
  const [serving, worker] = [start('server'), start('worker')]
  const count = batchesOf(worker)
  let refusals = 0
  serving.stdout.setEncoding('utf8').on('data', (piece) => {
    refusals += piece.split('A connection was refused').length - 1
  })
  while (count() < 100) await sleep(100)
  await sleep(5000)
  /** Batches a second, and what the server's process takes of the processor: seconds a second. */
  const measure = async (ms) => {
    const [before, began, cpu] = [count(), performance.now(), processorSeconds(serving.pid)]
    await sleep(ms)
    const elapsed = (performance.now() - began) / 1000
    return { batches: (count() - before) / elapsed, cpu: (processorSeconds(serving.pid) - cpu) / elapsed }
  }
  const strangersAt = async (target) => {
    const attacker = spawn(process.execPath, [at('test/attack/attacker.mjs'), 'flood', target, seconds, perSecond])
    const told = text(attacker.stdout)
    await sleep(1000)
    const seen = refusals
    const during = await measure(1000 * (Number(seconds) - 2))
    const logged = refusals - seen
    return { during, logged, ...JSON.parse(await told) }
  }
  const quiet = [await measure(30_000)]
  const elsewhere = await strangersAt(await freeAddress())
  await sleep(2000)
  quiet.push(await measure(30_000))
  const here = await strangersAt(server)
  await sleep(2000)
  quiet.push(await measure(30_000))
  for (const child of [serving, worker]) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  const mean = (name) => quiet.reduce((sum, each) => sum + each[name], 0) / quiet.length
  const slowerBy = ({ during }) => round3(1 - during.batches / mean('batches'))
  const [ofHere, ofElsewhere] = [slowerBy(here), slowerBy(elsewhere)]
  say({
    batchesQuiet: quiet.map(({ batches }) => round3(batches)),
    batchesDuring: round3(here.during.batches),
    batchesWhileElsewhere: round3(elsewhere.during.batches),
    sent: here.sent,
    strangersOwnSeconds: round3(here.ownSeconds),
    serverMicrosecondsAHello: Math.round(((here.during.cpu - mean('cpu')) * 1e6) / Number(perSecond)),
  })
  say({
    name: 'linesASecond',
    value: round3(here.logged / (Number(seconds) - 2)),
    reached: here.logged <= Number(seconds),
  })
  say({ name: 'slower while the same strangers knock where nobody listens (their own work)', value: ofElsewhere })
  say({ name: 'slower while strangers come', value: ofHere, reached: ofHere < 0.05 })
  process.exit(0)
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
