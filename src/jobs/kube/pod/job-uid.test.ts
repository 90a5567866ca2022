import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { keptFolder, ownerUid } from './job-uid.ts'

const root = mkdtempSync(join(tmpdir(), 'oarfish-uid-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('the job of a pod is the one that controls it', async () => {
  const list = (owners: readonly object[]) => async () =>
    ({ metadata: {}, items: [{ metadata: { ownerReferences: owners } }] }) as never
  expect(await ownerUid({ list: list([{ uid: 'a' }, { uid: 'b', controller: true }]) }, 'pod')).toBe('b')
  expect(await ownerUid({ list: list([]) }, 'pod')).toBeUndefined()
})

test('what a job saved on its volume stays for its next start, and is its output when it has ended well', () => {
  const output = join(root, 'out')
  const first = keptFolder('u1', output)
  const folder = first.env['OARFISH_SAVE_ROOT']!
  mkdirSync(join(folder, 'model', '0'), { recursive: true })
  writeFileSync(join(folder, 'model', '0', 'manifest.json'), 'new')
  // Another job of the same output has a folder of its own.
  expect(keptFolder('u2', output).env['OARFISH_SAVE_ROOT']).not.toBe(folder)
  const again = keptFolder('u1', output)
  expect(again.env).toEqual({ OARFISH_JOB_UID: 'u1', OARFISH_SAVE_ROOT: folder })
  mkdirSync(join(output, 'model', '0'), { recursive: true })
  writeFileSync(join(output, 'model', '0', 'manifest.json'), 'old')
  again.finish()
  expect(readFileSync(join(output, 'model', '0', 'manifest.json'), 'utf8')).toBe('new')
  expect(existsSync(folder)).toBe(false)
  first.finish() // of another pod, which ends later
})

test('without a volume the job still knows what it saved, for pods whose folder is mounted by hand', () => {
  expect(keptFolder('u1', undefined).env).toEqual({ OARFISH_JOB_UID: 'u1' })
  expect(keptFolder(undefined, root).env).toEqual({})
})

test('a volume that cannot be written is named, with who must be let in', () => {
  const file = join(root, 'file')
  writeFileSync(file, '')
  expect(() => keptFolder('u1', join(file, 'output'))).toThrow(
    expect.objectContaining({
      code: 'KUBE_VOLUME_WRITE',
      message: expect.stringContaining(`The job cannot write to ${join(file, 'output')} of its volume`),
    }),
  )
})
