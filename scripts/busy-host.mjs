/**
 * @file `npm run test:busy [-- --runs 10 --workers 4 --servers 2 --cpu 20 --rows 40000]`: a geo job beside stress-ng, so many times. Prints how each
 * run ended; ends with 1 when one of them did not train to its end.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { installed } from './apt.mjs'
import { at, install } from './setup.mjs'

const number = (value) => ({ type: 'string', default: String(value) })
const { values } = parseArgs({
  options: { runs: number(10), workers: number(4), servers: number(2), cpu: number(20), rows: number(40_000) },
})
/** Longer than any run takes on such a host: what hangs has failed. */
const RUN_MS = 30 * 60 * 1000
const SHOWN_LINES = 20

const folder = mkdtempSync(join(tmpdir(), 'oarfish-busy-host-'))
try {
  process.exitCode = await main()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function main() {
  if (!(await install())) return 1
  if (installed({ 'stress-ng': 'stress-ng' }).length > 0) {
    console.error('npm run test:busy needs stress-ng (Debian: apt-get install stress-ng).')
    return 2
  }
  const made = await oarfish(['data', 'criteo-like', '--out', join(folder, 'data'), '--rows', values.rows])
  if (made.code !== 0) throw new Error(made.said)
  const runs = Number(values.runs)
  let failed = 0
  for (let run = 1; run <= runs; run++) {
    const { code, said, seconds } = await beside(['--cpu', values.cpu], trainOnce)
    const result = /auc: ([\d.]+)/.exec(said.split('\n').findLast((line) => line.includes('auc:')) ?? '')?.[1]
    console.log(`run ${run} of ${runs}: ${code === 0 ? 'done' : `ended with ${code}`} in ${seconds} s, auc ${result}`)
    if (code === 0) continue
    failed++
    console.log(said.split('\n').slice(-SHOWN_LINES).join('\n'))
  }
  console.log(`${runs - failed} of ${runs} runs trained to their end, beside stress-ng --cpu ${values.cpu}`)
  return failed > 0 ? 1 : 0
}

function trainOnce() {
  const keys = {
    train_data_dir: join(folder, 'data', 'train'),
    test_data_dir: join(folder, 'data', 'test'),
    train_batch_size: 512,
    infer_batch_size: 512,
    epochs: 1,
    sync_mode: 'geo',
    geo_step: 10,
    model_save_path: join(folder, 'model'),
  }
  const launch = ['launch', `--worker_num=${values.workers}`, `--server_num=${values.servers}`]
  const trainer = ['tools/static_ps_trainer.py', '-m', at('models', 'rank', 'deepfm', 'config.yaml')]
  const overrides = Object.entries(keys).map(([key, value]) => `runner.${key}=${value}`)
  return oarfish([...launch, '--log_dir', join(folder, 'log'), ...trainer, '-o', ...overrides])
}

/** Runs `work` while every core is fought for. */
async function beside(load, work) {
  const stress = spawn('stress-ng', ['--quiet', ...load], { stdio: 'ignore' })
  const end = () => stress.kill()
  process.once('exit', end)
  try {
    return await work()
  } finally {
    process.off('exit', end)
    end()
  }
}

function oarfish(args) {
  const began = performance.now()
  const child = spawn(process.execPath, [at('bin', 'oarfish.js'), ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  const late = setTimeout(() => child.kill(), RUN_MS)
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(late)
      resolve({ code: code ?? signal, said, seconds: Math.round((performance.now() - began) / 1000) })
    })
  })
}
