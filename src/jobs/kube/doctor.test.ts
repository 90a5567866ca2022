/** @file Each check of the doctor, with answers in which it fails. */
import type { V1Node, V1Pod } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import type { KubeClient } from './client.ts'
import { enoughCores, nodes, queues, rights, server, volcanoReady } from './doctor.ts'

const ready = (is: string, cpu = '2') => ({ allocatable: { cpu }, conditions: [{ type: 'Ready', status: is }] })
const node = (name: string, is = 'True', cpu = '2') => ({ metadata: { name }, status: ready(is, cpu) }) as V1Node
const pod = (name: string, is: string, phase = 'Running') =>
  ({ metadata: { name }, status: { ...ready(is), phase } }) as V1Pod
const listing = (items: readonly unknown[]) => ({
  list: (async () => ({ metadata: {}, items })) as unknown as KubeClient['list'],
})

test('a server that is too old', async () => {
  const get = async () => ({ gitVersion: 'v1.13.4', major: '1', minor: '13+' })
  expect(await server({ get } as unknown as KubeClient)).toEqual({
    ok: false,
    text: expect.stringMatching(/server: Kubernetes v1\.13\.4$/),
    fix: 'Jobs need Kubernetes 1.24 or later.',
  })
})

test('nodes that are not ready are named, and a cluster without any is none', async () => {
  expect(await nodes(listing([node('a'), node('b', 'Unknown')]))).toEqual({
    ok: false,
    text: '1 of 2 ready; not ready: b.',
    fix: 'See why: kubectl describe node b',
  })
  expect(await nodes(listing([]))).toMatchObject({ ok: false, text: 'The cluster has no nodes.' })
})

test('four cores are not more than four; nodes that take no pods do not count', async () => {
  const closed = { ...node('c', 'True', '64'), spec: { unschedulable: true } }
  const answer = await enoughCores(
    listing([node('a', 'True', '3500m'), node('b', 'True', '500m'), closed, node('d', 'False', '8')]),
  )
  expect(answer).toMatchObject({ ok: false, text: '4 in all; more than 4 are needed.' })
  expect(await enoughCores(listing([node('a', 'True', '4100m')]))).toMatchObject({ ok: true })
})

test("Volcano's pods that are not ready are named; one that has done its work is no fault", async () => {
  const client = {
    ...listing([
      pod('volcano-scheduler-1', 'False'),
      pod('volcano-admission-init', 'False', 'Succeeded'),
      pod('x', 'True'),
    ]),
    get: async () => ({}) as never,
    namespace: 'v',
  }
  expect(await volcanoReady(client)).toEqual({
    ok: false,
    text: 'Not ready in v: volcano-scheduler-1.',
    fix: 'See why: kubectl -n v describe pod volcano-scheduler-1',
  })
})

test('queues that are all closed', async () => {
  const closed = { metadata: { name: 'default' }, status: { state: 'Closed' } }
  expect(await queues(listing([closed]))).toMatchObject({ ok: false, text: 'There is no open queue.' })
})

test('rights that are missing are named', async () => {
  const create = async (review: { spec: { resourceAttributes: { resource: string; verb: string } } }) => {
    const { resource, verb } = review.spec.resourceAttributes
    return { status: { allowed: !(resource === 'pods' && verb === 'watch') } }
  }
  expect(await rights({ create: create as unknown as KubeClient['create'], namespace: 'n' })).toMatchObject({
    ok: false,
    text: 'Missing in namespace n: watch pods.',
  })
})
