import { expect, test } from 'vitest'
import { UserError } from '../base/util/index.ts'
import { captureIo } from './capture.testing.ts'
import { reportFailure } from './failure.ts'

const userError = new UserError('Expected a number, got "x".', {
  code: 'DATA_LINE',
  where: { file: 'part-0', line: 7 },
  hint: 'Remove the line, or set runner.on_bad_line: skip.',
})

test('a user error is its place, message and fix on the error stream, exit 2', () => {
  const { io, text } = captureIo()
  expect(reportFailure(userError, io, { json: false })).toBe(2)
  expect(text).toEqual({
    out: '',
    err: 'part-0:7 Expected a number, got "x".\n  Remove the line, or set runner.on_bad_line: skip.\n',
  })
})

test('with --json a user error is the last event', () => {
  const { io, text } = captureIo()
  expect(reportFailure(userError, io, { json: true })).toBe(2)
  expect(text.err).toBe('')
  expect(JSON.parse(text.out)).toEqual({
    kind: 'error',
    code: 'DATA_LINE',
    message: 'Expected a number, got "x".',
    where: 'part-0:7',
    hint: 'Remove the line, or set runner.on_bad_line: skip.',
  })
})

test('a bug shows its stack and causes and asks for a report, exit 1', () => {
  const { io, text } = captureIo()
  const bug = new Error('internal: no such page', { cause: new RangeError('offset 7') })
  expect(reportFailure(bug, io, { json: false })).toBe(1)
  expect(text.err).toMatch(
    /Error: internal: no such page\n {4}at [\s\S]*caused by RangeError: offset 7\n {4}at [\s\S]*Please report it/,
  )
})
