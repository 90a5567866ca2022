/** @file A job's processes run as the uid of its user's entry, where the server is root. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { addGroup, addUser, cloudClient } from '../../src/jobs/server/index.ts'
import { firstOutput } from './mpi-cluster.testing.ts'

const OARFISH = fileURLToPath(new URL('../../bin/oarfish.js', import.meta.url))
const NOBODY = 65534

let folder: string
let server: ChildProcess
afterEach(() => {
  server?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

test.skipIf(process.getuid?.() !== 0)('a start_cmd runs as its user', async () => {
  folder = mkdtempSync(join(tmpdir(), 'uid-'))
  chmodSync(folder, 0o755)
  const dir = join(folder, 'server')
  mkdirSync(dir, { mode: 0o711 })
  await addGroup(join(dir, 'accounts.json'), 'ctr', { quota: 1, priorities: ['high'] })
  const keys = await addUser(join(dir, 'accounts.json'), { name: 'me', groups: ['ctr'], uid: NOBODY })
  server = spawn(process.execPath, [OARFISH, 'cloud', 'serve', '--dir', dir, '--port', '0'])
  const client = cloudClient(/http:\/\/[\d.:]+/.exec(await firstOutput(server))![0], keys)
  const { jobId } = await client.submit({
    request: {
      ...{ name: 'who', group: 'ctr', priority: 'high', kind: 'COLLECTIVE_CPU_MPI', env: {}, data: {} },
      roles: [{ name: 'trainer', replicas: 1, resources: {} }],
      command: `id -u; cat ${join(dir, 'accounts.json')} || echo hidden`,
    },
    files: [],
  })
  await vi.waitFor(async () => expect((await client.info(jobId)).phase).toBe('succeeded'), {
    timeout: 120_000,
    interval: 300,
  })
  let text = ''
  for await (const piece of client.logs(jobId, { role: 'trainer', rank: 0 })) text += piece
  expect(text).toMatch(/^65534\n[\s\S]*hidden\n$/)
})
