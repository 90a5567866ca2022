/** @file tools/run_gpubox.sh from any folder: the seed's variables, a busy port, the array form, exit codes, and that its server ends. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test, vi } from 'vitest'
import { freePorts } from '../ports.testing.ts'

vi.setConfig({ testTimeout: 180_000 })

const SCRIPT = fileURLToPath(new URL('../../tools/run_gpubox.sh', import.meta.url))
const OARFISH = fileURLToPath(new URL('../../bin/path', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'oarfish-gpubox-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(script: string, cwd: string, env: Record<string, string> = {}) {
  mkdirSync(cwd, { recursive: true })
  const child = spawn('sh', [script], { cwd, env: { ...process.env, ...env } })
  let [out, err] = ['', '']
  child.stdout.on('data', (text) => (out += text))
  child.stderr.on('data', (text) => (err += text))
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, out, err })),
  )
}

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => socket.destroy(resolve(false) as never))
    socket.on('error', () => resolve(true))
  })

test('an edited copy in a folder of its own trains: port in the array form, devices and SC take effect', async () => {
  const [port] = await freePorts(1)
  const edited = readFileSync(SCRIPT, 'utf8')
    .replace(/^export PADDLE_PSERVERS_IP_PORT_LIST=.*$/m, `export PADDLE_PSERVERS_IP_PORT_LIST="127.0.0.1:${port}"`)
    .replace(/^export PADDLE_PSERVER_PORT_ARRAY=.*$/m, `export PADDLE_PSERVER_PORT_ARRAY=(${port})`)
    .replace(/^export FLAGS_selected_gpus=.*$/m, 'export FLAGS_selected_gpus="0"')
    .replace(
      /^SC=.*$/m,
      `SC="tools/static_gpubox_trainer.py -m paddlerec.models.rank.dnn -o runner.sync_mode=gpubox runner.reader_type=InmemoryDataset runner.epochs=1 runner.model_save_path=saved"`,
    )
  const cwd = join(folder, 'own')
  mkdirSync(join(cwd, 'tools'), { recursive: true })
  writeFileSync(join(cwd, 'tools/run_gpubox.sh'), edited)
  const { code, out, err } = await run('tools/run_gpubox.sh', cwd, { PATH: `${OARFISH}:${process.env['PATH']}` })
  expect(err).toBe('')
  expect(out).toBe(
    `Create log floder for store running log\nPADDLE WILL START PSERVER ${port}\nPADDLE WILL START Trainer 0\nTraining log stored in ./log/\n`,
  )
  expect(code).toBe(0)
  const log = readFileSync(join(cwd, 'log/worker.0.log'), 'utf8')
  for (const line of [
    'sync_mode = gpubox',
    'Run Worker Begin',
    'begin_pass cost:',
    'finish 0 epoch training....',
    'Run Success, Exit.',
  ])
    expect(log).toContain(line)
  expect(readFileSync(join(cwd, 'log/train_result_dict.txt'), 'utf8')).toMatch(/^\{'speed': \[/)
  expect(await isFree(port!)).toBe(true)
})

test('a busy port is named with its keys', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const env = { PADDLE_PSERVERS_IP_PORT_LIST: `127.0.0.1:${port}`, PADDLE_PSERVER_PORT_ARRAY: String(port) }
  const { code, err } = await run(SCRIPT, join(folder, 'busy'), env)
  server.close()
  expect(code).toBe(2)
  expect(err).toMatch(`cannot listen at 127.0.0.1:${port}: another process listens there`)
  expect(err).toMatch('PADDLE_PSERVERS_IP_PORT_LIST and PADDLE_PSERVER_PORT_ARRAY')
})
