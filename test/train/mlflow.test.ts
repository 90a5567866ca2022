/** @file Runs on an MLflow server: a real one from PyPI where there is one, and one that is away. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { batch, epoch, START } from '../../src/base/event/example.testing.ts'
import { MlflowRun } from '../../src/base/runs/mlflow.ts'
import { oarfish } from '../oarfish.testing.ts'

/** `pip install mlflow` into a folder, or on the PATH. */
const MLFLOW =
  process.env['OARFISH_TEST_MLFLOW'] ?? spawnSync('sh', ['-c', 'command -v mlflow'], { encoding: 'utf8' }).stdout.trim()
const folder = mkdtempSync(join(tmpdir(), 'oarfish-mlflow-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(MLFLOW === '' || !existsSync(MLFLOW))(
  'a real MLflow server (OARFISH_TEST_MLFLOW names the command mlflow)',
  () => {
    let server: ChildProcess
    afterAll(() => void server?.kill('SIGTERM'))

    test('has parameters, metrics by step and how the run ended', async () => {
      const port = await freePort()
      const words = [
        'server',
        '--port',
        String(port),
        '--backend-store-uri',
        `sqlite:///${folder}/db`,
        '--workers',
        '1',
      ]
      server = spawn(MLFLOW, [...words, '--default-artifact-root', join(folder, 'artifacts')], { stdio: 'ignore' })
      const url = `http://127.0.0.1:${port}`
      await vi.waitFor(async () => expect((await fetch(`${url}/health`)).status).toBe(200), {
        timeout: 180_000,
        interval: 500,
      })
      const asked = ['runner.epochs=1', 'runner.print_interval=4', `runner.mlflow=${url}`]
      const { code, err } = await oarfish(
        ['train', '-m', 'paddlerec.models.rank.dnn', '--name', 'one', '-o', ...asked],
        folder,
      )
      expect(code, err).toBe(0)
      const post = async (path: string, body: unknown) =>
        (await (
          await fetch(`${url}/api/2.0/mlflow/${path}`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        ).json()) as never
      const { experiment } = (await (
        await fetch(`${url}/api/2.0/mlflow/experiments/get-by-name?experiment_name=dnn`)
      ).json()) as { experiment: { experiment_id: string } }
      const { runs } = (await post('runs/search', { experiment_ids: [experiment.experiment_id] })) as { runs: Found[] }
      const [run] = runs as [Found]
      expect([runs.length, run.info.status, run.info.run_name]).toEqual([1, 'FINISHED', 'one'])
      const metric = (key: string) => run.data.metrics.find((one) => one.key === key)
      expect(metric('train/auc')!.step).toBe(29) // the last of 32 batches that is printed, every fourth
      expect(metric('test/auc')!.value).toBeGreaterThan(0.5)
      expect(run.data.params.find(({ key }) => key === 'runner.epochs')!.value).toBe('1')
    })
  },
)

interface Found {
  readonly info: { readonly status: string; readonly run_name: string; readonly run_id: string }
  readonly data: {
    readonly metrics: readonly { readonly key: string; readonly value: number; readonly step: number }[]
    readonly params: readonly { readonly key: string; readonly value: string }[]
  }
}

async function freePort(): Promise<number> {
  const holder = createServer()
  await new Promise<void>((done) => holder.listen(0, '127.0.0.1', done))
  const { port } = holder.address() as { port: number }
  await new Promise((done) => holder.close(done))
  return port
}

test('a server that is away is said once, what it missed comes when it is back, in order and whole', async () => {
  const port = await freePort()
  const said: string[] = []
  const run = new MlflowRun({
    server: `http://127.0.0.1:${port}/`,
    experiment: 'e',
    name: 'n',
    env: { MLFLOW_TRACKING_TOKEN: 'word' },
    warn: (message) => said.push(message),
  })
  run.add(START)
  for (let i = 0; i < 3000; i++) run.add(batch({ batch: i, samples: i + 1, metrics: { loss: i, auc: Number.NaN } }))
  await expect.poll(() => said.length).toBe(1)
  expect(said[0]).toContain('Trying again')
  const asked: { path: string; body: { metrics?: { step: number; key: string }[]; status?: string }; token: string }[] =
    []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    asked.push({ path: request.url!, body: text === '' ? {} : JSON.parse(text), token: request.headers.authorization! })
    if (request.url!.includes('get-by-name')) return void response.writeHead(404).end('{}')
    response.end(JSON.stringify({ experiment_id: '7', run: { info: { run_id: 'r' } } }))
  })
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  run.add(epoch({ phase: 'infer', epoch: 0, metrics: { auc: 0.7 } }))
  await run.close()
  server.close()
  const losses = asked.flatMap(({ body }) => body.metrics ?? []).filter(({ key }) => key === 'train/loss')
  expect(losses.map(({ step }) => step)).toEqual(Array.from({ length: 3000 }, (_, i) => i + 1))
  expect(asked.at(-1)!.body.status).toBe('FAILED') // no word of its end came
  expect([said.length, asked[0]!.token]).toEqual([1, 'Bearer word'])
})

test('a slow server is asked for the run once, and has all of it when it answers', async () => {
  const said: string[] = []
  const asked: string[] = []
  const steps: number[] = []
  let answer = () => {}
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    asked.push(request.url!.split('/').at(-1)!)
    const { metrics = [] } = JSON.parse(text || '{}') as { metrics?: { step: number }[] }
    steps.push(...metrics.map(({ step }) => step))
    const send = () =>
      void response.end(JSON.stringify({ experiment: { experiment_id: '7' }, run: { info: { run_id: 'r' } } }))
    if (request.url!.endsWith('runs/create')) answer = send
    else send()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  const run = new MlflowRun({
    ...{ server: `http://127.0.0.1:${port}`, experiment: 'e', name: 'n', env: {} },
    warn: (message) => said.push(message),
    waits: { sendMs: 5, timeoutMs: 30, lastMs: 60_000 },
  })
  run.add(batch({ batch: 0, samples: 1, metrics: { loss: 1 } }))
  await expect.poll(() => said.length).toBe(1)
  await expect.poll(() => asked).toContain('create')
  answer()
  await run.close()
  server.close()
  expect(asked.filter((path) => path === 'create')).toHaveLength(1)
  expect([steps.length > 0, asked.at(-1)]).toEqual([true, 'update'])
})

test('a server that takes requests and never answers does not hold up the end of a run', async () => {
  const said: string[] = []
  const server = createServer(() => undefined)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  const run = new MlflowRun({
    ...{ server: `http://127.0.0.1:${port}`, experiment: 'e', name: 'n', env: {} },
    warn: (message) => said.push(message),
    waits: { sendMs: 5, timeoutMs: 3_600_000, lastMs: 50 },
  })
  run.add(batch({ batch: 0, samples: 1, metrics: { loss: 1 } }))
  await once(server, 'request')
  await run.close()
  server.closeAllConnections()
  server.close()
  expect(said).toEqual(['2 values did not reach the MLflow server; the run folder has them all.'])
})

test('a run beside a server that never comes ends as it would without, and says what was lost', async () => {
  const asked = ['runner.epochs=1', 'runner.mlflow=http://127.0.0.1:1', 'runner.model_save_path=']
  const { code, out, err } = await oarfish(['train', '-m', 'paddlerec.models.rank.dnn', '-o', ...asked], folder)
  expect(code, err).toBe(0)
  expect(out + err).toContain('The MLflow server http://127.0.0.1:1 does not take this run')
})
