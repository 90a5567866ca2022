/** @file Logs of limited size, and lists of files. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLogFile } from './log-file.ts'
import { readFileList } from './run-trainer.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-log-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const text = (name: string) => readFileSync(join(folder, name), 'utf8')

test('a full log becomes .1, that one .2, and the oldest goes', () => {
  const log = openLogFile(join(folder, 'log/x.INFO'), { maxBytes: 10, kept: 2 })
  for (const line of ['first\n', 'second\n', 'third\n', 'fourth\n']) log.write(line)
  log.close()
  expect([text('log/x.INFO'), text('log/x.INFO.1'), text('log/x.INFO.2')]).toEqual(['fourth\n', 'third\n', 'second\n'])
  expect(existsSync(join(folder, 'log/x.INFO.3'))).toBe(false)
})

test('another run begins a new log and keeps the one before', () => {
  for (const line of ['one\n', 'two\n']) {
    const log = openLogFile(join(folder, 'x'))
    log.write(line)
    log.close()
  }
  expect([text('x'), text('x.1')]).toEqual(['two\n', 'one\n'])
})

test('a log that cannot be written is reported once and ends nothing', () => {
  writeFileSync(join(folder, 'file'), '')
  const failures: Error[] = []
  const log = openLogFile(join(folder, 'file/x.INFO'), { onFailure: (error) => failures.push(error) })
  log.write('a')
  log.write('b')
  log.close()
  expect(failures).toHaveLength(1)
})

test('a list names files relative to the working folder; what is not there is named with its line', () => {
  for (const name of ['a', 'b']) writeFileSync(join(folder, name), '')
  writeFileSync(join(folder, 'x.list'), './a\r\n\n b \n')
  expect(readFileList('x.list', folder)).toEqual([join(folder, 'a'), join(folder, 'b')])
  writeFileSync(join(folder, 'y.list'), 'a\nc\n')
  expect(() => readFileList('y.list', folder)).toThrow('There is no data file c.')
  writeFileSync(join(folder, 'z.list'), '\n')
  expect(() => readFileList('z.list', folder)).toThrow('The list names no files.')
  expect(() => readFileList('none.list', folder)).toThrow('There is no such list of data files.')
})
