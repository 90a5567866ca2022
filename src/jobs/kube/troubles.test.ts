/** @file The worst that pods and events say, in one line. */
import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { failureOf, troubleOf } from './troubles.ts'

const pod = (status: V1Pod['status'], more: Partial<V1Pod> = {}): V1Pod => ({
  metadata: { name: 'job-pserver-1', labels: { 'oarfish.dev/role': 'pserver' } },
  spec: { containers: [{ name: 'pserver', image: 'i', resources: { limits: { memory: '2Gi' } } }] },
  ...(status && { status }),
  ...more,
})
const ended = (reason: string, exitCode: number, message?: string) => ({
  phase: 'Failed',
  containerStatuses: [
    {
      name: 'c',
      image: '',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { terminated: { reason, exitCode, ...(message && { message }) } },
    },
  ],
})
const event = (reason: string, message: string, kind = 'Job'): CoreV1Event => ({
  metadata: {},
  involvedObject: { kind, name: 'job' },
  reason,
  message,
})

test('a server that was killed for its memory names its own key', () => {
  expect(failureOf(pod(ended('OOMKilled', 137)))).toBe(
    'pserver 1 was killed: it needed more memory than 2Gi (OOMKilled). Raise submit.k8s_ps_memory.',
  )
})

test('of pods that ended the first is the cause, not the server that noticed', () => {
  const at = (role: string, second: number, exitCode: number) => {
    const one = pod(ended('Error', exitCode), {
      metadata: { name: `job-${role}-0`, labels: { 'oarfish.dev/role': role } },
    })
    one.status!.containerStatuses![0]!.state!.terminated!.finishedAt = new Date(1_700_000_000_000 + second * 1000)
    return one
  }
  const noticed = at('pserver', 2, 134)
  expect(troubleOf([noticed, at('trainer', 1, 137)], [])).toMatch(/^trainer 0 ended with exit code 137/)
  // Kubernetes knows whole seconds: within one of them who was killed comes before who noticed.
  expect(troubleOf([noticed, at('trainer', 2, 137)], [])).toMatch(/^trainer 0 ended with exit code 137/)
  expect(troubleOf([noticed, at('trainer', 3, 1)], [])).toMatch(/^pserver 0 ended with exit code 134/)
})

test('an exit code comes with the last words', () => {
  expect(failureOf(pod(ended('Error', 7, 'CONFIG_MISSING_KEY: no phase')))).toBe(
    'pserver 1 ended with exit code 7: CONFIG_MISSING_KEY: no phase.',
  )
  expect(failureOf(pod({ phase: 'Running' }))).toBeUndefined()
})

test('Volcano writes into every pod of a gang what is wrong with one of them: only that is said', () => {
  const message =
    'pod group is not ready, 3 Pending; Pending: 3 Unschedulable. Origin reason is x-0: 0/4 nodes are unavailable: 4 Insufficient cpu.'
  const waiting = pod({
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  })
  expect(troubleOf([waiting], [])).toMatch(
    /^The pods cannot be placed: 0\/4 nodes are unavailable: 4 Insufficient cpu\. Ask for less \(submit\.k8s_ps_cores,/,
  )
})

test('of a quota only what is exceeded is said, not how Volcano prints its errors', () => {
  const said = 'pods \\"x-0\\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1'
  const message = `Error creating pods: [failed to create pod x-0, err: &errors.StatusError{Message:"${said}", Reason:"Forbidden", Code:403}}]`
  expect(troubleOf([], [event('FailedCreate', message)])).toBe(
    'The quota of the namespace is exceeded (exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1): ask for fewer or smaller pods, end other jobs, or have it raised.',
  )
})

test('the claim that is missing comes before that there is no room', () => {
  const message =
    '0/4 nodes are unavailable: 4 plugin VolumeBinding pre-predicates failed persistentvolumeclaim "criteo" not found.'
  const waiting = pod({
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  })
  expect(troubleOf([waiting], [])).toBe(
    'There is no PersistentVolumeClaim criteo: create it, or change config.afs_remote_mount_point.',
  )
})

test('that a gang waited is no trouble once its pods are placed', () => {
  const waited = event('Unschedulable', 'resource in cluster is overused: overused cpu', 'PodGroup')
  expect(troubleOf([], [waited])).toMatch(/overused cpu/)
  const placed = pod({ phase: 'Running' }, { spec: { nodeName: 'a', containers: [] } })
  expect(troubleOf([placed], [waited])).toBeUndefined()
})

test('that a gang is not complete yet is no trouble', () => {
  expect(
    troubleOf(
      [],
      [event('Unschedulable', '0/0 tasks in gang unschedulable: pod group is not ready, 4 minAvailable', 'PodGroup')],
    ),
  ).toBeUndefined()
})
