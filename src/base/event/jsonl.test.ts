import { expect, test } from 'vitest'
import { RUN } from './example.testing.ts'
import { jsonlSink } from './jsonl.ts'

test('writes one JSON line an event, from which the events can be read back', () => {
  const lines: string[] = []
  const sink = jsonlSink((text) => lines.push(text))
  for (const event of RUN) sink(event)
  expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true)
  expect(lines.map((line) => JSON.parse(line))).toEqual(RUN)
})

test('does not throw on values that JSON does not have', () => {
  let text = ''
  jsonlSink((line) => (text = line))({
    kind: 'start',
    command: 'train',
    model: 'm',
    settings: { seed: 2n ** 64n - 1n, rate: Number.NaN },
  })
  expect(JSON.parse(text).settings).toEqual({ seed: '18446744073709551615', rate: null })
})
