/** @file `oarfish doctor`: what each fact of a machine means, and that its report keeps secrets. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { capture } from './capture.testing.ts'
import { examineHost } from './doctor-checks.ts'
import type { HostFacts } from './doctor-facts.ts'

const GOOD: HostFacts = {
  node: '22.18.0',
  system: 'linux 6.1 x64',
  cpu: { model: 'Xeon', cores: 8, flags: ['sse', 'avx2'], simd: true },
  memory: { total: 64e9, free: 50e9, limit: undefined },
  openFiles: 65536,
  processes: 30000,
  shm: { total: 8e9, free: 8e9 },
  temporary: { path: '/tmp', free: 9e9 },
  cache: true,
  onnxruntime: { version: '1.30.0', failure: undefined },
  koffi: undefined,
  devices: [],
  programs: { mpirun: 'mpirun 4.1', ssh: 'OpenSSH_9', tar: 'tar 1.34', kubectl: 'v1.32' },
  kubeconfig: false,
  port: undefined,
  clock: { synchronized: true, skew: 0, year: 2026 },
}

test('a good machine is ok in all that it needs', () => {
  expect(
    examineHost(GOOD)
      .filter(({ ok }) => ok !== true)
      .map(({ check }) => check),
  ).toEqual(['volcano'])
})

const BAD: readonly [string, Partial<HostFacts>, boolean | 'warn' | undefined, RegExp][] = [
  ['node', { node: '18.20.0' }, false, /Node 20\.19/],
  ['node', { node: '23.1.0' }, 'warn', /nvm install/],
  ['cpu', { cpu: { ...GOOD.cpu, simd: false } }, false, /jitless/],
  ['cpu', { cpu: { ...GOOD.cpu, flags: ['sse', 'sse2'] } }, 'warn', /slower/],
  ['memory', { memory: { total: 64e9, free: 1e9, limit: 1e9 } }, 'warn', /2 GB is little/],
  ['limits', { openFiles: 256 }, 'warn', /ulimit -n/],
  ['limits', { processes: 100 }, 'warn', /ulimit -u/],
  ['/dev/shm', { shm: { total: 67e6, free: 67e6 } }, 'warn', /--shm-size/],
  ['/dev/shm', { shm: undefined }, 'warn', /tmpfs/],
  ['disk', { temporary: { path: '/tmp', free: 1e6 } }, 'warn', /TMPDIR/],
  ['disk', { cache: false }, 'warn', /HOME/],
  ['onnxruntime', { onnxruntime: { version: '', failure: 'no libonnxruntime.so' } }, false, /npm ci/],
  ['koffi', { koffi: 'Cannot find koffi' }, 'warn', /npm install/],
  ['mpi', { programs: { ...GOOD.programs, mpirun: undefined } }, undefined, /openmpi/],
  ['ssh', { programs: { ...GOOD.programs, ssh: undefined } }, undefined, /openssh/],
  ['kubectl', { programs: { ...GOOD.programs, kubectl: undefined } }, undefined, /kubernetes\.io/],
  ['ports', { port: 'EADDRNOTAVAIL' }, false, /ip link/],
  ['clock', { clock: { synchronized: true, skew: 90, year: 2026 } }, false, /timedatectl/],
  ['clock', { clock: { synchronized: true, skew: -9, year: 2026 } }, 'warn', /timedatectl/],
  ['clock', { clock: { synchronized: false, skew: undefined, year: 2026 } }, 'warn', /logs of several hosts/],
  ['clock', { clock: { synchronized: undefined, skew: undefined, year: 1970 } }, false, /Set the clock/],
]

test.each(BAD)('%s that is wrong is told with its fix: %j', (check, facts, ok, fix) => {
  const found = examineHost({ ...GOOD, ...facts }).find((finding) => finding.check === check)
  expect(found).toMatchObject({ ok, fix: expect.stringMatching(fix) })
})

test('looks at this machine; the report holds what it found and no values of variables', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-doctor-'))
  try {
    const file = join(folder, 'report.txt')
    const { code, out, err } = await capture(['doctor', '--report', file], {
      env: { OARFISH_JOB_TOKEN: 'hunter2', HOME: folder },
    })
    expect(code).toBe(0)
    expect(out).toMatch(/^ok {3}node +\d+\.\d+/)
    expect(out).toMatch(/^ok {3}onnxruntime +\d+\.\d+\.\d+ computes$/m)
    expect(err).toContain(file)
    const report = readFileSync(file, 'utf8')
    expect(report).toContain('OARFISH_JOB_TOKEN')
    expect(report).not.toContain('hunter2')
    expect(report).toMatch(/ok {3}onnxruntime/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
