/** @file A folder for logs that cannot be used is the user's to mend, and is found before anything starts. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeLogFolder } from './log-folder.ts'

const root = mkdtempSync(join(tmpdir(), 'oarfish-logs-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('it is made with the folders above it, and may be there', async () => {
  const folder = join(root, 'deep', '日志 1')
  await makeLogFolder(folder)
  await makeLogFolder(folder)
  expect(statSync(folder).isDirectory()).toBe(true)
})

test.each(['', '/below'])('a file in its place is named (file%s)', async (below) => {
  const file = join(root, 'file')
  writeFileSync(file, '')
  await expect(makeLogFolder(`${file}${below}`)).rejects.toMatchObject({
    code: 'LAUNCH_LOG_DIR',
    message: expect.stringContaining(`The log folder ${file}${below} cannot be used`),
  })
})

test.skipIf(!existsSync('/proc/self'))('where the system makes no folders it does not wait for ever', async () => {
  await expect(makeLogFolder('/proc/oarfish/log')).rejects.toMatchObject({ code: 'LAUNCH_LOG_DIR' })
})
