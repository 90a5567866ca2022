/** @file What killed processes left in the temporary folder goes with the next start; what others use stays. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeOwnFolder, ownName, removeLeftovers } from './own-temp.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'own-temp-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const of = (name: string, pid: number) => name.replace(`-${process.pid}-`, `-${pid}-`)

test('only what is of a process that is gone is removed, folders with all that is in them', async () => {
  const gone = await goneProcess()
  const dead = [of(ownName('shm'), gone), `${of(ownName('net'), gone)}.sock`]
  for (const name of dead) writeFileSync(join(folder, name), '')
  const deadFolder = join(folder, of(ownName('gloo'), gone))
  mkdirSync(join(deadFolder, 'below'), { recursive: true })
  writeFileSync(join(deadFolder, 'below/file'), '')
  const live = makeOwnFolder('fifo', folder)
  const elsewhere = of(ownName('shm'), gone).replace(/^oarfish-\d+/, 'oarfish-7')
  const notOurs = ['oarfish-notes.txt', `oarfish-${gone}-deadbeef0000`, 'other-1-2-shm-000000000000', elsewhere]
  for (const name of notOurs) writeFileSync(join(folder, name), '')
  writeFileSync(join(folder, 'precious'), '')
  const trick = of(ownName('files'), gone)
  symlinkSync(join(folder, 'precious'), join(folder, trick))
  expect([...removeLeftovers([folder])].sort()).toEqual([...dead.map((name) => join(folder, name)), deadFolder].sort())
  expect(readdirSync(folder).sort()).toEqual([...notOurs, 'precious', trick, live.split('/').at(-1)!].sort())
})

test('a socket of a process that was killed is removed, that of one that runs is not', async () => {
  const path = join(folder, `${ownName('net')}.sock`)
  const server = createServer()
  await new Promise<void>((done) => server.listen(path, done))
  expect(removeLeftovers([folder])).toEqual([])
  expect(existsSync(path)).toBe(true)
  server.close()
})

test('several that clean at once all succeed', async () => {
  const gone = await goneProcess()
  for (let i = 0; i < 50; i++) mkdirSync(join(folder, of(ownName('gloo'), gone)))
  await Promise.all(Array.from({ length: 4 }, async () => removeLeftovers([folder])))
  expect(readdirSync(folder)).toEqual([])
})

async function goneProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await new Promise((done) => child.once('exit', done))
  return child.pid!
}
