import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { capture } from './capture.testing.ts'
import { environment } from './user-places.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'oarfish-jobs-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

test('a mistyped id where there is no job server is said to be none of the jobs made here', async () => {
  const { code, err } = await oarfish(['status', 'job-1'])
  expect(code).toBe(2)
  expect(err).toMatch(/^No job job-1 was made from here, and there are no keys .*\n +oarfish jobs lists those/)
})

test('logs of a role that has none say so', async () => {
  const folder = join(home, 'oarfish/jobs/job-1')
  mkdirSync(join(folder, 'logs'), { recursive: true })
  writeFileSync(join(folder, 'logs/trainer.0.log'), 'a line\n')
  expect(await oarfish(['logs', 'job-1', '--role', 'trainer', '--rank', '0'])).toEqual({
    code: 0,
    out: 'a line\n',
    err: '',
  })
  const err = 'There is no log of trainers 0; oarfish logs job-1 prints those there are.\n'
  expect(await oarfish(['logs', 'job-1', '--role', 'trainers', '--rank', '0'])).toEqual({ code: 0, out: '', err })
})

test('jobs of this machine are listed though no job server answers', async () => {
  const folder = join(home, 'oarfish/jobs/job-1')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'job.json'),
    JSON.stringify({ name: 'mine', group: 'g', priority: 'high', kind: 'PS_CPU_MPI' }),
  )
  const keys = { OARFISH_AK: 'a', OARFISH_SK: 's', PADDLECLOUD_SERVER: 'http://127.0.0.1:9' }
  const { code, out, err } = await capture(['jobs'], { env: { XDG_DATA_HOME: home, XDG_CONFIG_HOME: home, ...keys } })
  expect([code, out]).toEqual([0, expect.stringContaining('job-1')])
  expect(err).toContain('http://127.0.0.1:9 cannot be reached')
})

test('a job that was started again says when and why', async () => {
  const folder = join(home, 'oarfish/jobs/job-1')
  mkdirSync(folder, { recursive: true })
  const described = { name: 'mine', group: 'g', priority: 'high', kind: 'PS_CPU_K8S' }
  writeFileSync(join(folder, 'job.json'), JSON.stringify(described))
  writeFileSync(join(folder, 'outcome.json'), '{"phase":"failed","reason":"trainer 1 ended with exit code 137."}')
  const restarts = [
    { at: Date.UTC(2026, 10, 17, 8, 0, 5), reason: 'trainer 1 was evicted.' },
    { at: Date.UTC(2026, 10, 17, 9) },
  ]
  writeFileSync(join(folder, 'status.json'), JSON.stringify({ phase: 'running', processes: [], restarts }))
  const { out } = await oarfish(['status', 'job-1'])
  expect(out).toContain('  started again 2026-11-17 08:00:05: trainer 1 was evicted.\n')
  expect(out).toContain('  started again 2026-11-17 09:00:00: no reason is known\n')
  expect(out).toMatch(/\ntrainer 1 ended with exit code 137\.\n$/)
})

test('a relative KUBECONFIG means the same in the folder where job.sh runs', () => {
  const { KUBECONFIG } = environment({ KUBECONFIG: ['kube.conf', '/etc/kube.conf'].join(delimiter) })
  expect(KUBECONFIG).toBe([join(process.cwd(), 'kube.conf'), '/etc/kube.conf'].join(delimiter))
  expect(environment({})).not.toHaveProperty('KUBECONFIG')
})

const oarfish = (words: readonly string[]) => capture(words, { env: { XDG_DATA_HOME: home, XDG_CONFIG_HOME: home } })
