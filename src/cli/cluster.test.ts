/** @file What is wrong with a command line of `oarfish cluster` is reported before a host is touched: ssh here is a program that fails. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { capture } from './capture.testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-cluster-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const conf = join(folder, 'conf.py')
writeFileSync(conf, 'HOSTS = ["root@10.0.0.1", "root@10.0.0.2"]\n')

const cluster = async (...words: readonly string[]) =>
  await capture(['cluster', '--conf', conf, ...words], { env: { OARFISH_SSH: 'false', XDG_DATA_HOME: folder } })

test.each([
  [[], '--job_workspace or --job_dispatch_package should be set. Neither of them is; exactly one must be.'],
  [[`-p${folder}`, '-j/x'], '--job_workspace or --job_dispatch_package should be set. Both of them are'],
  [['-jrelative'], '--job_workspace: expected an absolute path on the hosts, got "relative".'],
  [['--job_dispatch_package=missing'], /there is no folder \S+missing\./],
  [['-p.', '--config=model/net.py'], /--job_dispatch_package: \S+ has no model\/net\.ts\./],
  [['-j/x', '--log_perod=50'], /log_perod.*log_period/],
  [['-j/x', '--num_passes=many', '--use_gpu=7'], /num_passes[\s\S]*use_gpu/],
  [['-j/x', '--trainer_id=1', '--pservers=a'], /--pservers is set.*\n--trainer_id is set for each host from conf\.py/],
  [['-j/x', '--ports_num_for_sparse=4'], '--ports_num_for_sparse=4, but PADDLE_PORTS_NUM_FOR_SPARSE is 2 in conf.py.'],
])('%j', async (words, message) => {
  const { code, out, err } = await cluster(...words)
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(message)
})

test('a conf that is not there, and one that is wrong', async () => {
  expect((await capture(['cluster', '--conf', 'missing.py', '-j/x'])).err).toContain('missing.py cannot be read')
  writeFileSync(join(folder, 'wrong.py'), 'HOSTS = ["a", "a"]\n')
  const { code, err } = await capture(['cluster', '--conf', join(folder, 'wrong.py'), '-j/x'])
  expect([code, err]).toEqual([2, expect.stringContaining('wrong.py:1:15 HOSTS: "a" is there twice')])
})

test('what ssh fails with is reported for every host', async () => {
  const { code, err } = await cluster('-j/x')
  expect([code, err]).toEqual([
    2,
    'root@10.0.0.1: ssh failed: it said nothing.\nroot@10.0.0.2: ssh failed: it said nothing.\n',
  ])
})
