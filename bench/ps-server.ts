/** @file One parameter server: how fast it answers, how many rows a thread of it serves, how long it pauses while it grows and is saved. */
import { loadConfig } from '../src/base/config/index.ts'
import { createRng } from '../src/base/util/index.ts'
import { loadModel } from '../src/model/index.ts'
import {
  type Call,
  gatherRows,
  jobIdentity,
  KernelStore,
  openThreadLink,
  RemoteParams,
  ServerGroup,
} from '../src/training/ps/index.ts'
import { type BatchParams, denseLayout, denseSlices } from '../src/weights/params/index.ts'
import { startJob } from '../test/ps/job.testing.ts'
import { CONFIG } from './ps-job.ts'

const SIGNS = 13_312
/** A model whose dense part is next to nothing. */
const OVERRIDES = ['hyper_parameters.fc_sizes=[1]', 'runner.table_segments=1', 'runner.sync_mode=async']
const WARM_UP = 20

/** Pull and push of one table's rows, as a trainer thread makes them. */
export async function requestTimes(over: 'shared memory' | 'TCP', repeats: number) {
  const { params, share, close } = await openServer(over)
  const millis: number[] = []
  for (let i = 0; i < repeats + WARM_UP; i++) {
    const before = performance.now()
    await params.pull(share, true)
    await params.push(share)
    if (i >= WARM_UP) millis.push(performance.now() - before)
  }
  await close()
  millis.sort((a, b) => a - b)
  const p50Ms = millis[millis.length >> 1]!
  const bytes = 2 * SIGNS * (8 + 9 * 4)
  const p99Ms = millis[Math.floor(millis.length * 0.99)]!
  return { signs: SIGNS, p50Ms, p99Ms, megabytesPerSecond: bytes / p50Ms / 1000 }
}

/** Every pull brings rows that are new; then the table is read as saving reads it, while pulls go on. */
export async function growth(rows: number) {
  const { params, share, servers, close } = await openServer('shared memory')
  const { signs } = share.tables[0]!.distinct
  const pull = async () => {
    const before = performance.now()
    await params.pull(share, true)
    return performance.now() - before
  }
  let longestGrowingMs = 0
  for (let made = 0; made < rows; made += SIGNS) {
    for (let i = 0; i < SIGNS; i++) signs[i] = BigInt(made + i)
    longestGrowingMs = Math.max(longestGrowingMs, await pull())
  }
  const state = { saved: 0, saving: true }
  const saving = (async () => {
    for await (const block of gatherRows(servers, 0)) state.saved += block.signs.length
    state.saving = false
  })()
  let longestSavingMs = 0
  while (state.saving) longestSavingMs = Math.max(longestSavingMs, await pull())
  await saving
  await close()
  return { rows: state.saved, longestGrowingMs, longestSavingMs }
}

/** Rows a thread pulls and pushes without a network. */
export async function storeSpeed() {
  const {
    train: program,
    optimizer,
    tableOptimizers,
  } = await loadModel(loadConfig({ path: CONFIG, overrides: OVERRIDES }))
  const slice = { from: 0, to: denseLayout(program, optimizer).floats }
  const store = new KernelStore({ program, optimizer, tableOptimizers, seed: 1, segments: 1, slice })
  const { tables, gradients: dense } = randomShare(slice.to)
  const signs = { groups: [tables[0]!.distinct], tableGroups: [0] }
  const gradients = [tables[0]!.gradients]
  const rate = (work: () => void) => {
    for (let i = 0; i < WARM_UP; i++) work()
    const before = performance.now()
    for (let i = 0; i < 200; i++) work()
    return (200 * SIGNS) / ((performance.now() - before) / 1000)
  }
  const [pull, push] = [
    () => store.pull(signs, true, 0),
    () => store.push({ ...signs, gradients, dense }, { contributor: 0 }),
  ]
  return {
    pullRowsPerSecond: rate(pull),
    pushRowsPerSecond: rate(push),
    servedRowsPerSecond: rate(() => {
      pull()
      push()
    }),
  }
}

async function openServer(over: 'shared memory' | 'TCP') {
  const job = await startJob({ path: CONFIG, workers: 1, servers: 1, overrides: OVERRIDES, workersStarted: false })
  const config = loadConfig({ path: CONFIG, overrides: OVERRIDES })
  const model = await loadModel(config)
  const { cluster } = job
  const identity = jobIdentity({ ...cluster, role: 'worker', rank: 0, endpoint: '' }, config.config, model)
  const servers = await ServerGroup.open({ servers: cluster.servers, identity, local: over !== 'TCP' })
  const path = servers.localPath(0, 0)
  const bytes = 4 * SIGNS * (8 + 9 * 4)
  const peer = path && (await openThreadLink({ path, who: 'server[0]', identity, bytes }))
  if (over === 'shared memory' && !peer) throw new Error('this system has no shared memory')
  const timeoutMs = 60_000
  const call: Call = (server, method, parts, what, read) =>
    peer ? peer.ask(method, parts, { timeoutMs, what }, read) : servers.ask(server, method, parts, what, read)
  const { floats } = denseLayout(model.train, model.optimizer)
  const params = new RemoteParams({ call, thread: 0, segments: 1, slices: denseSlices(floats, 1), pushesAhead: 0 })
  const close = async () => {
    if (peer) peer.leave()
    servers.close()
    await job.success()
  }
  return { params, servers, share: randomShare(floats), close }
}

function randomShare(floats: number): BatchParams {
  const rng = createRng(1n)
  const signs = BigUint64Array.from({ length: SIGNS }, () => BigInt(rng.below(2 ** 31)) * 4099n)
  return {
    samples: 512,
    tables: [
      {
        table: 0,
        distinct: { signs, lengths: Uint32Array.of(SIGNS) },
        rows: new Float32Array(9 * SIGNS),
        gradients: Float32Array.from({ length: 9 * SIGNS }, () => rng.normal() / 100),
      },
    ],
    weights: new Float32Array(floats),
    gradients: new Float32Array(floats),
  }
}
