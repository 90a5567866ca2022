/** @file Which port is which server, and what each holds. */
import { expect, test } from 'vitest'
import { denseSlices } from '../../weights/params/index.ts'
import { serverOf } from '../../weights/table/index.ts'
import { listenHost, planServers } from './endpoints.ts'

test('sparse tables have ports of their own behind those of dense weights', () => {
  const plan = planServers({ pservers: '10.0.0.1, 10.0.0.2', port: 7164, ports_num: 2, ports_num_for_sparse: 1 })
  expect(plan).toEqual({
    hosts: ['10.0.0.1:7164', '10.0.0.2:7164'],
    servers: ['10.0.0.1:7166', '10.0.0.2:7166', '10.0.0.1:7164', '10.0.0.1:7165', '10.0.0.2:7164', '10.0.0.2:7165'],
    tableServers: 2,
    ranks: [
      [2, 3, 0],
      [4, 5, 1],
    ],
  })
})

test('without ports for sparse tables all servers hold both; a host may have a port of its own', () => {
  const plan = planServers({ pservers: 'a,b:9000,[::1]:5,::1', port: 7164, ports_num: 1, ports_num_for_sparse: 0 })
  expect(plan.servers).toEqual(['a:7164', 'b:9000', '[::1]:5', '[::1]:7164'])
  expect(plan.tableServers).toBeUndefined()
})

test('tables lie on the first servers, dense weights on the others', () => {
  const placement = { servers: 6, tableServers: 2, shards: 1000 }
  const owners = Array.from({ length: 2000 }, (_, sign) => serverOf(BigInt(sign), placement))
  expect([...new Set(owners)]).toEqual([0, 1])
  const slices = denseSlices(100, 6, 2)
  expect(slices.slice(0, 2).map(({ from, to }) => to - from)).toEqual([0, 0])
  expect(slices.slice(2)).toEqual(denseSlices(100, 4))
})

test('an interface that is not there is an error that names those that are', () => {
  expect(listenHost('')).toBe('0.0.0.0')
  expect(() => listenHost('eth99')).toThrow('--nics=eth99: this host has no network interface of that name')
})
