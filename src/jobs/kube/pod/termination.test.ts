import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runEntry } from './run-entry.ts'
import { terminationMessage, writeTermination } from './termination.ts'

const end = async (line: string) => {
  const silent = () => undefined
  return await runEntry(line, { env: process.env, out: silent, err: silent, signal: AbortSignal.timeout(100_000) })
}

test.each([
  ['exit 1', 'General Error'],
  ['kill -ABRT $$', 'Program Abort'],
  ['kill -FPE $$', 'Error Arithmetic Operation(Floating Point Exception)'],
  ['kill -SEGV $$', 'Segmentation Fault'],
  ['exit 9', 'Exit code 9'],
])('%s ends with "%s"', async (line, message) => {
  const { code, lastLines } = await end(line)
  expect(terminationMessage(code, lastLines)).toBe(message)
})

test('a good end needs no words', async () => {
  const { code, lastLines } = await end('echo done >&2')
  expect(terminationMessage(code, lastLines)).toBeUndefined()
})

test('what the program last said follows, without the stack', async () => {
  const { code, lastLines } = await end(`echo 'Error: no such file' >&2; echo '    at read (x.js:1:1)' >&2; exit 1`)
  expect(terminationMessage(code, lastLines)).toBe('General Error\nError: no such file')
})

test('a signal reaches the program behind the shell', async () => {
  const stop = new AbortController()
  const out = (text: string) => text.includes('ready') && stop.abort()
  const line = `true && ${process.execPath} -e "console.log('ready'); setInterval(() => 0, 1000)"`
  const { code } = await runEntry(line, { env: process.env, out, err: () => undefined, signal: stop.signal })
  expect(code).toBe(143)
})

test('the message goes where the kubelet looks, up to what it takes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-termination-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'log')
  writeTermination('x', file)
  expect(() => readFileSync(file)).toThrow() // outside of a pod there is no such file, and none is made
  writeFileSync(file, '')
  writeTermination('é'.repeat(4000), file)
  expect(readFileSync(file)).toHaveLength(4096)
})
