/** @file How often an mpirun is run that ends: what its nodes said decides. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Job } from '../submit/index.ts'
import { mpi } from './mpi.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mpi-'))
  mkdirSync(join(folder, 'logs'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const job: Job = {
  ...{ name: 'ctr', group: 'default', priority: 'high', kind: 'PS_CPU_MPI', command: 'true', env: {}, data: {} },
  roles: [
    { name: 'pserver', replicas: 2, resources: {} },
    { name: 'trainer', replicas: 2, resources: {} },
  ],
  files: [],
  pods: undefined,
  secrets: { profile: '', env: [] },
}

/** The steps that were run, where that of training prints this and is killed. */
async function stepsOf(
  printed: readonly string[],
): Promise<{ readonly code: number | undefined; readonly steps: string }> {
  const steps = join(folder, 'steps')
  const lines = printed.map((line) => `echo '${line}'`).join('\n')
  const script = `#!/bin/sh
case "$1" in --version) echo 'mpirun (Open MPI) 4.1.4'; exit 0;; esac
for last; do :; done
cat > /dev/null
echo "$last" >> ${steps}
[ "$last" = train ] || exit 0
${lines}
exit 137
`
  writeFileSync(join(folder, 'mpirun'), script, { mode: 0o755 })
  const env = { PATH: [folder, process.env['PATH']].join(delimiter) }
  const context = { job, folder, env, hostfile: undefined, version: '1.0.0' }
  const plan = mpi.plan({ job, folder }, await mpi.lookUp(job, context))
  const rest = { emit: () => undefined, signal: new AbortController().signal, again: false }
  const code = await mpi.apply(plan, { ...context, ...rest })
  return { code, steps: readFileSync(steps, 'utf8').trim().split('\n').join(' ') }
}

test.each([
  ['a job that has said nothing', [], 'prepare train finish'],
  ['one that can be started again', ['@note.0 begun'], 'prepare train train train train finish'],
  ['one whose nodes have dealt with the end', ['@note.0 begun', '@note.0 ended'], 'prepare train finish'],
])('%s', async (_what, printed, steps) => {
  expect(await stepsOf(printed)).toEqual({ code: 137, steps })
})
