/**
 * @file `node scripts/stalls.mjs [--mode geo --rows 10000000 --workers 1 --servers 1]`: for how long no thread of a job with tables of so many rows ran,
 * main threads and pulses apart, while tables grow, rows are exchanged, a model is saved and evaluated.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { at } from './setup.mjs'

const number = (value) => ({ type: 'string', default: String(value) })
const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'geo' },
    rows: number(10_000_000),
    workers: number(1),
    servers: number(1),
    geo_step: number(100),
  },
})
const SLOTS = 26
const DENSE = Array.from({ length: 13 }, (_, i) => `dense_feature:0.${i}`).join(' ')

const folder = mkdtempSync(join(tmpdir(), 'oarfish-stalls-'))
try {
  process.exitCode = await main()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function main() {
  const samples = Math.ceil(Number(values.rows) / SLOTS)
  await writeSamples('train', samples, 8)
  await writeSamples('test', Math.ceil(samples / 10), 1)
  mkdirSync(join(folder, 'stalls'))
  const { code, marks, said } = await train()
  if (code !== 0) {
    console.error(said.split('\n').slice(-20).join('\n'))
    return 1
  }
  print(marks)
  return 0
}

/** Every sign of the training data is new, so that a table grows with each of them. */
async function writeSamples(part, samples, files) {
  mkdirSync(join(folder, part))
  let sign = 1
  for (let file = 0; file < files; file++) {
    const out = createWriteStream(join(folder, part, `part-${file}`))
    for (let sample = 0; sample < samples / files; sample++) {
      const slots = Array.from({ length: SLOTS }, (_, slot) => `${slot + 1}:${sign++}`)
      if (!out.write(`click:${sample % 4 === 0 ? 1 : 0} ${DENSE} ${slots.join(' ')}\n`))
        await new Promise((resolve) => out.once('drain', resolve))
    }
    await new Promise((resolve) => out.end(resolve))
  }
}

/** Two epochs: tables grow in the first, in the second rows are only exchanged. */
async function train() {
  const keys = {
    train_data_dir: join(folder, 'train'),
    test_data_dir: join(folder, 'test'),
    train_batch_size: 512,
    infer_batch_size: 512,
    epochs: 2,
    print_interval: 1000,
    sync_mode: values.mode,
    geo_step: values.geo_step,
    model_save_path: join(folder, 'model'),
  }
  const launch = ['launch', `--worker_num=${values.workers}`, `--server_num=${values.servers}`]
  const trainer = ['tools/static_ps_trainer.py', '--json', '-m', at('models', 'rank', 'deepfm', 'config.yaml')]
  const overrides = [
    ...Object.entries(keys).map(([key, value]) => `runner.${key}=${value}`),
    'hyper_parameters.fc_sizes=[64, 32]',
  ]
  const env = {
    ...process.env,
    OARFISH_STALLS: join(folder, 'stalls'),
    NODE_OPTIONS: `--import ${at('scripts', 'stall-probe.mjs')}`,
  }
  const args = [at('bin', 'oarfish.js'), ...launch, '--log_dir', join(folder, 'log'), ...trainer, '-o', ...overrides]
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const marks = []
  let said = ''
  const read = (stream) =>
    createInterface({ input: stream }).on('line', (line) => {
      said += `${line}\n`
      const kind = /"kind":"(\w+)"/.exec(line)?.[1]
      if (kind && kind !== 'batch') marks.push({ at: Date.now(), kind })
    })
  read(child.stdout)
  read(child.stderr)
  const code = await new Promise((resolve) => child.on('close', resolve))
  return { code, marks, said }
}

function print(marks) {
  const ends = (kind) => marks.filter((mark) => mark.kind === kind).map((mark) => mark.at)
  const [passes, saved] = [ends('epoch'), ends('saved')]
  // Each epoch ends with that of training, and then with that of evaluation.
  const [trained, evaluated] = [0, 1].map((phase) => passes.filter((_, i) => i % 2 === phase))
  const begin = marks[0].at
  const stages = {
    'growth and exchange': [[begin, trained[0]]],
    save: trained.map((at, i) => [at, saved[i]]),
    evaluation: saved.map((at, i) => [at, evaluated[i]]),
    exchange: [[evaluated[0], trained[1]]],
  }
  console.log('| longest stall, ms | server main | server pulse | worker main | worker pulse |')
  console.log('| --- | --- | --- | --- | --- |')
  const threads = ['server-main', 'server-pulse', 'worker-main', 'worker-pulse']
  for (const [stage, spans] of Object.entries(stages)) {
    const cells = threads.map((thread) => longest(thread, spans))
    console.log(`| ${stage} | ${cells.join(' | ')} |`)
  }
}

function longest(thread, spans) {
  const files = readdirSync(join(folder, 'stalls')).filter((name) => name.startsWith(thread))
  const notes = files.flatMap((name) =>
    readFileSync(join(folder, 'stalls', name), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  )
  const inside = notes.filter(({ at }) => spans.some(([from, to]) => at >= from && at <= to + 100))
  return Math.max(0, ...inside.map(({ ms }) => ms))
}
