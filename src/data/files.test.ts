import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { formatUserError, type UserError } from '../base/util/index.ts'
import { listDataFiles } from './files.ts'

const folder = () => mkdtempSync(join(tmpdir(), 'oarfish-files-'))
const errorOf = async (...args: Parameters<typeof listDataFiles>) =>
  formatUserError((await listDataFiles(...args).catch((error) => error)) as UserError)

test('data files come in name order, without hidden files, markers and subfolders', async () => {
  const at = folder()
  for (const name of ['part-2', 'part-10', 'B.gz', '.DS_Store', '_SUCCESS']) writeFileSync(join(at, name), 'x')
  mkdirSync(join(at, 'sub'))
  expect(await listDataFiles(at)).toEqual(['B.gz', 'part-10', 'part-2'].map((name) => join(at, name)))
})

test('a missing folder, a file in its place and an empty folder say which key to set', async () => {
  const at = folder()
  expect(await errorOf(join(at, 'no'), 'runner.test_data_dir')).toBe(
    `${join(at, 'no')} runner.test_data_dir: the folder does not exist.\n` +
      '  Set runner.test_data_dir to the folder that holds your data files, or give one with -o runner.test_data_dir=FOLDER.',
  )
  expect(await errorOf(at)).toMatch('runner.train_data_dir: the folder holds no data files.')
  writeFileSync(join(at, 'file'), 'x')
  expect(await errorOf(join(at, 'file'))).toMatch('this is a file, not a folder')
})
