import { expect, test } from 'vitest'
import { localHosts, type ThisHost } from './local-host.ts'

const names: Readonly<Record<string, readonly string[]>> = { 'ps0.example': ['10.0.0.1'], 'ps1.example': ['10.0.0.2'] }
const HERE: ThisHost = {
  addresses: ['127.0.0.1', '10.0.0.1'],
  names: ['localhost', 'alpha'],
  resolve: async (name) => names[name] ?? [],
  named: undefined,
}
const local = async (hosts: string[], here = HERE) => [...(await localHosts(hosts, here))]

test('a host is this one by interface address, by host name and by what its name resolves to', async () => {
  expect(await local(['10.0.0.1', '10.0.0.2'])).toEqual(['10.0.0.1'])
  expect(await local(['beta', 'alpha', 'alpha'])).toEqual(['alpha'])
  expect(await local(['ps1.example', 'ps0.example'])).toEqual(['ps0.example'])
})

test('loopback addresses and localhost are this host', async () => {
  expect(await local(['127.0.0.1', 'localhost', '10.0.0.1', '[::1]'])).toHaveLength(4)
})

test('POD_IP says which entry this host is, unless the list is of one machine', async () => {
  const here = { ...HERE, named: '10.0.0.2' }
  expect(await local(['10.0.0.1', '10.0.0.2'], here)).toEqual(['10.0.0.2'])
  expect(await local(['127.0.0.1'], here)).toEqual(['127.0.0.1'])
  expect(await local(['10.0.0.1', '10.0.0.3'], here)).toEqual(['10.0.0.1'])
})

test('a list without this host is an error that lists its addresses and the names that were not found', async () => {
  await expect(local(['10.0.0.9', 'gamma'])).rejects.toMatchObject({
    code: 'LAUNCH_HOST',
    message:
      'None of the endpoints is of this host: 10.0.0.9, gamma. This host is localhost, alpha, 10.0.0.1. Not found by name: gamma.',
  })
})

test('a loopback address beside another machine is an error', async () => {
  await expect(local(['127.0.0.1', '10.0.0.2'])).rejects.toThrow('127.0.0.1 means another machine on every host')
})
