/** @file `oarfish serve` in a process of its own: what it prints, and how a signal ends it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Exported, exported, testLines } from '../export/exported.testing.ts'
import { remove, until } from './client.testing.ts'

const BIN = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))

let made: Exported
beforeAll(async () => {
  made = await exported('tiny')
})
afterAll(() => remove(made.folder))

/** Starts the command; `output()` is what it has printed. */
function start(...args: string[]) {
  const child: ChildProcess = spawn(process.execPath, [BIN, 'serve', '--model', made.out, '--port', '0', ...args])
  let text = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, ended, output: () => text }
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s lets requests under way finish and ends with 0', async (signal) => {
  const { child, ended, output } = start('--batch-window-ms', '5000')
  try {
    await until(() => /Serving epoch 0 of .* on http:\/\/127\.0\.0\.1:\d+/.test(output()), 'the address')
    const url = /http:\/\/[\d.:]+/.exec(output())![0]
    const line = (await testLines(made.folder)).find((text) => text.includes('history:'))!
    const ask = () => fetch(`${url}/predict`, { method: 'POST', body: line, signal: AbortSignal.timeout(60_000) })
    const asked = Array.from({ length: 5 }, ask)
    await until(async () => (await (await fetch(`${url}/metrics`)).text()).includes('queued_requests 5'), 'waiting')
    child.kill(signal)
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(await ended).toBe(0)
  } finally {
    child.kill('SIGKILL')
  }
})

test('with --json it prints events', async () => {
  const { child, ended, output } = start('--json')
  await until(() => output().includes('\n'), 'a line')
  expect(JSON.parse(output())).toMatchObject({ kind: 'notice', message: expect.stringContaining('http://') })
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})
