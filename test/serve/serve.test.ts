/** @file The server over real HTTP: numbers, bad requests, batching, reload, stop. */
import { cp, readFile, rename, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { predict } from '../../src/inference/export/index.ts'
import { type Exported, exported, exportTo, testLines } from '../export/exported.testing.ts'
import { type Running, remove, startServer, until } from './client.testing.ts'

let made: Exported
let lines: string[]
let full: string[]
beforeAll(async () => {
  made = await exported('tiny', ['runner.epochs=2'])
  lines = await testLines(made.folder)
  full = lines.filter((line) => line.includes('history:'))
})
afterAll(() => remove(made.folder))

describe('answers', () => {
  let server: Running
  let expected: number[]
  beforeAll(async () => {
    server = await startServer(made.out)
    expected = []
    for await (const { scores } of predict({ model: made.out, input: join(made.folder, 'data', 'test') }))
      expected.push(...scores)
  })
  afterAll(() => server.served.close())
  const instance = (over: Record<string, unknown> = {}) => ({
    user: 3,
    tags: [101, 104],
    history: ['18446744073709551615'],
    x: [0.5, 0.25],
    ...over,
  })
  const refused = async (instances: unknown) => {
    const { status, json } = await server.predict(JSON.stringify({ instances }))
    return { status, ...json.error }
  }

  test('slot text scores as `oarfish predict` does', async () => {
    const { status, json } = await server.predict(`${full.join('\n')}\n`)
    expect([status, json.scores.length, json.epoch]).toEqual([200, full.length, 1])
    const wanted = expected.filter((_, i) => lines[i]!.includes('history:'))
    for (const [i, score] of json.scores.entries()) expect(score).toBeCloseTo(wanted[i]!, 6)
  })

  test('JSON scores as the samples of the export say, ids above 2^53 as strings', async () => {
    const samples = await readFile(join(made.out, 'samples.json'), 'utf8')
    const { status, json } = await server.predict(samples)
    expect(status).toBe(200)
    for (const [i, score] of JSON.parse(samples).scores.entries()) expect(json.scores[i]).toBeCloseTo(score, 6)
    expect(json.outputs['predict']![0]).toEqual([json.scores[0]])
  })

  test('one id may stand without its list, and a list of instances without a name', async () => {
    const body = JSON.stringify([instance(), instance({ user: [3] }), instance({ user: '3' })])
    const { json } = await server.predict(body, 'application/json')
    expect(new Set(json.scores).size).toBe(1)
  })

  test('one score a line for who asks for text', async () => {
    const response = await fetch(`${server.served.url}/predict`, {
      method: 'POST',
      body: full.slice(0, 3).join('\n'),
      headers: { accept: 'text/plain', 'content-type': 'text/plain' },
    })
    expect(await response.text()).toMatch(/^(0\.\d+\n){3}$/)
  })

  test('many requests at once get each its own answer', async () => {
    const alone = await server.predict(full.join('\n'))
    const answers = await Promise.all(full.map((line) => server.predict(line)))
    for (const [i, { json }] of answers.entries()) expect(json.scores[0]).toBeCloseTo(alone.json.scores[i]!, 6)
  })

  test('a wrong request among good ones spoils no other', async () => {
    const bodies = full.slice(0, 20).map((line, i) => (i % 3 === 0 ? 'user:x' : line))
    const answers = await Promise.all(bodies.map((body) => server.predict(body)))
    expect(answers.map(({ status }) => status)).toEqual(bodies.map((_, i) => (i % 3 === 0 ? 400 : 200)))
  })

  test('a missing slot is named with what to send', async () => {
    const { user: _, ...rest } = instance()
    expect(await refused([instance(), rest])).toMatchObject({
      status: 400,
      code: 'SERVE_MISSING_SLOT',
      message: 'instance 2: slot "user" is missing',
      hint: expect.stringContaining('send {"user":[0]}'),
    })
    expect(await refused([{ ...rest, usr: 3 }])).toMatchObject({
      message: expect.stringContaining('did you mean it by "usr"'),
    })
    const { status, json } = await server.predict('user:1 tags:2 x:0.1 x:0.2\n')
    expect([status, json.error.message]).toEqual([400, 'line 1: slot "history" is missing'])
    expect(json.error.hint).toContain('send history:0')
  })

  test.each([
    ['an id above 2^53 as a number', { user: 2 ** 53 + 2 }, /above 2\^53/],
    ['an id that is no whole number', { user: 1.5 }, /whole number/],
    ['a negative id', { user: -1 }, /whole number from 0/],
    ['an id beyond 64 bits', { user: '18446744073709551616' }, /whole number from 0/],
    ['words as dense values', { x: ['a', 'b'] }, /finite 32-bit number/],
    ['too few dense values', { x: [1] }, /expected 2 values, found 1/],
    ['a dense value beyond 32 bits', { x: [1e39, 0] }, /finite 32-bit number/],
    ['no ids', { tags: [] }, /found an empty list/],
    ['null', { tags: null }, /found null/],
    ['an object', { tags: { a: 1 } }, /found object/],
    ['a list in a list', { tags: [[[1]]] }, /found a list in a list/],
  ])('%s is refused with the slot', async (_, over, message) => {
    const error = await refused([instance(over)])
    expect(error).toMatchObject({ status: 400, code: 'SERVE_VALUE', message: expect.stringMatching(message) })
    expect(error.message).toMatch(/^instance 1: slot "(user|tags|x)"/i)
  })

  test.each([
    ['something that is not JSON', '{"instances": [', 'SERVE_JSON'],
    ['an object without instances', '{"inputs": []}', 'SERVE_JSON'],
    ['no instances', '{"instances": []}', 'SERVE_EMPTY'],
    ['an instance that is a number', '{"instances": [3]}', 'SERVE_VALUE'],
    ['deep nesting', `{"instances": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`, 'SERVE_VALUE'],
    ['an empty text', '\n\n', 'SERVE_EMPTY'],
    ['half a megabyte of noise', Buffer.alloc(500_000, 'q\x00\x93\xff:7 '), 'SERVE_TEXT'],
  ])('%s is refused', async (_, body, code) => {
    const { status, json } = await server.predict(body)
    expect([status, json.error.code]).toEqual([400, code])
  })

  test('ten megabytes are refused with 413, whether their length is announced or not', async () => {
    const junk = new Uint8Array(10_000_000).fill(0x41)
    const announced = await server.predict(junk, 'application/json')
    expect([announced.status, announced.json.error.code]).toEqual([413, 'SERVE_BODY_SIZE'])
    expect(await chunked(server.served.port, junk)).toBe(413)
    expect((await server.get('/healthz')).status).toBe(200)
  })

  test('a client that waits for "100 Continue" is refused before it sends', async () => {
    expect(await expecting(server.served.port, 10_000_000)).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('unknown paths, methods and types have their own status', async () => {
    expect(await server.get('/predictions')).toMatchObject({
      status: 404,
      text: expect.stringContaining('POST /predict'),
    })
    expect((await server.get('/predict')).status).toBe(405)
    expect((await server.predict('x', 'image/png')).status).toBe(415)
    const response = await fetch(`${server.served.url}/metrics`, { method: 'DELETE' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
  })

  test('/healthz says what a probe needs, and names the folder to whoever has the token; /metrics counts', async () => {
    const { text: told } = await server.get('/healthz')
    expect(JSON.parse(told)).toEqual({ status: 'ok', epoch: 1, steps: expect.any(Number) })
    const other = await startServer(made.out, { adminToken: 'let me in' })
    const asked = async (authorization: string) =>
      (await fetch(`${other.served.url}/healthz`, { headers: { authorization } })).json()
    expect(await asked('Bearer let me in')).toMatchObject({ status: 'ok', model: made.out })
    expect(await asked('Bearer wrong')).not.toHaveProperty('model')
    await other.served.close()
    const { text } = await server.get('/metrics')
    expect(text).toMatch(/^oarfish_requests_total\{code="200"\} \d+$/m)
    expect(text).toMatch(/^oarfish_request_seconds_bucket\{le="\+Inf"\} \d+$/m)
    expect(text).toMatch(/^oarfish_model_epoch 1$/m)
  })
})

describe('settings', () => {
  test('--fill-missing fills what is missing as training does', async () => {
    const server = await startServer(made.out, { fillMissing: true })
    const [missing, zero] = [
      await server.predict('user:1 tags:2'),
      await server.predict('user:1 tags:2 history:0 x:0 x:0'),
    ]
    expect([missing.status, missing.json.scores]).toEqual([200, zero.json.scores])
    await server.served.close()
  })

  test('a window scores requests together that come apart', async () => {
    const server = await startServer(made.out, { batchWindowMs: 3000 })
    await Promise.all(
      [0, 40, 80].map(async (ms) => {
        await new Promise((resolve) => setTimeout(resolve, ms))
        return server.predict(full[0]!)
      }),
    )
    expect((await server.get('/metrics')).text).toMatch(/^oarfish_batch_requests_count 1$/m)
    await server.served.close()
  })

  test('a port that is taken is said', async () => {
    const server = await startServer(made.out)
    await expect(startServer(made.out, { port: server.served.port })).rejects.toMatchObject({ code: 'SERVE_LISTEN' })
    await server.served.close()
  })

  test.each([{ at: '20190720/7' }, { followersDir: 'notes' }])('%o without --follow is refused', async (options) => {
    await expect(startServer(made.out, options)).rejects.toMatchObject({ code: 'CLI_OPTION' })
  })

  test('a folder without an export is refused', async () => {
    await expect(startServer(join(made.folder, 'data'))).rejects.toMatchObject({ code: 'EXPORT_MISSING' })
  })
})

describe('a newer export', () => {
  /** Sends requests without pause; returns how to stop, and the epochs that answered. */
  function load(server: Running) {
    let running = true
    const answers: { status: number; epoch: number }[] = []
    const clients = Array.from({ length: 8 }, async () => {
      while (running) {
        const { status, json } = await server.predict(full[0]!)
        answers.push({ status, epoch: json.epoch })
      }
    })
    return {
      answers,
      stop: async () => {
        running = false
        await Promise.all(clients)
      },
    }
  }

  test('under load loses no request, when epochs appear in a folder and when one export is replaced', async () => {
    const folder = join(made.folder, 'by-epoch')
    await exportTo(made.folder, join(folder, '0'), { epoch: 0 })
    const single = join(made.folder, 'single')
    await exportTo(made.folder, single, { epoch: 0 })
    for (const [path, next] of [
      [folder, join(folder, '1')],
      [single, single],
    ] as const) {
      const server = await startServer(path)
      const { answers, stop } = load(server)
      await until(() => answers.length > 50, 'some answers')
      await exportTo(made.folder, next, { epoch: 1 })
      await until(() => answers.at(-1)!.epoch === 1, 'answers of the newer model')
      const swapped = answers.length
      await until(() => answers.length > swapped + 50, 'more answers')
      await stop()
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      expect(new Set(answers.map(({ epoch }) => epoch))).toEqual(new Set([0, 1]))
      expect((await server.get('/metrics')).text).toContain('oarfish_reloads_total{result="ok"} 1')
      await server.served.close()
    }
  })

  test('that is damaged is said and not served; a good one after it is', async () => {
    const folder = join(made.folder, 'damaged')
    await exportTo(made.folder, join(folder, '0'), { epoch: 0 })
    const server = await startServer(folder)
    const aside = join(made.folder, 'aside')
    await cp(made.out, aside, { recursive: true })
    await writeFile(join(aside, 'table-0.bin'), 'nonsense')
    await rename(aside, join(folder, '1'))
    await until(() => server.events.some(({ kind }) => kind === 'warning'), 'a warning')
    expect(server.events.at(-1)).toMatchObject({ message: expect.stringContaining('table-0.bin') })
    expect((await server.predict(full[0]!)).json.epoch).toBe(0)
    await exportTo(made.folder, join(folder, '2'), { epoch: 1 })
    await until(async () => (await server.predict(full[0]!)).json.epoch === 1, 'the good one')
    await server.served.close()
  })
})

describe('stopping', () => {
  test('answers what was asked, then takes no more', async () => {
    const server = await startServer(made.out, { batchWindowMs: 5000 })
    const asked = Array.from({ length: 10 }, () => server.predict(full[0]!))
    await until(
      async () => (await server.get('/metrics')).text.includes('oarfish_queued_requests 10'),
      'all requests in the queue',
    )
    const closed = server.served.close()
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(new Array(10).fill(200))
    await closed
    await expect(server.predict(full[0]!)).rejects.toThrow()
  })
})

/** Sends a body without saying how long it is; resolves to the status. */
function chunked(port: number, body: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path: '/predict', method: 'POST', timeout: 60_000 }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    sent.on('error', reject)
    sent.write(body.subarray(0, 1000))
    sent.end(body.subarray(1000))
  })
}

/** Announces a body and waits to be asked for it; resolves to what comes instead. */
function expecting(port: number, bytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(
        `POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n`,
      )
    })
    socket.setTimeout(60_000, () => reject(new Error('no answer')))
    socket.once('data', (data) => {
      socket.destroy()
      resolve(String(data))
    })
    socket.on('error', reject)
  })
}
