import { expect, test } from 'vitest'
import { KubeError } from '../errors.ts'
import { refuseRestart } from './restarted.ts'
import { makesCuts } from './start-fluid.ts'

const BEGUN = Date.parse('2026-01-01T00:00:10Z')
const pod = (restartCount: number, startedAt: string) => ({
  metadata: {
    ...{ name: 'ctr-pserver-0', namespace: 'default', uid: 'u' },
    ownerReferences: [{ apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', name: 'ctr', uid: 'j' }],
  },
  spec: { containers: [{ name: 'pserver' }] },
  status: {
    ...{ phase: 'Running', podIP: '10.0.0.1' },
    containerStatuses: [
      {
        ...{ name: 'pserver', restartCount, state: { running: { startedAt } } },
        lastState: {
          terminated: { exitCode: 1, message: 'General Error\nno room', finishedAt: '2026-01-01T00:00:08Z' },
        },
      },
    ],
  },
})

/** Pods as looks at the API find them, one after the other; what was created. */
function started(
  looks: readonly object[],
  { others = [] as readonly object[], podCount = 1, end = new AbortController(), goesOn = false } = {},
) {
  const created: Record<string, unknown>[] = []
  const left = [...looks]
  const list = async () => ({ metadata: {}, items: [left.length > 1 ? left.shift() : left[0]] }) as never
  const create = async <T>(object: T) => {
    created.push(object as never)
    return object
  }
  const refused = refuseRestart({
    ...{ client: { list, create }, podName: 'ctr-pserver-0', begunAt: BEGUN, say: () => undefined, signal: end.signal },
    ...{ pods: async () => [pod(1, ''), ...others] as never, podCount, goesOn },
  })
  return { refused, created }
}

test('the first life of a container goes on', async () => {
  const { refused, created } = started([pod(0, '2026-01-01T00:00:10Z')])
  await refused
  expect(created).toEqual([])
})

test('what the API still shows of the life before is not taken for this one', async () => {
  const { refused, created } = started([pod(0, '2026-01-01T00:00:00Z'), pod(1, '2026-01-01T00:00:09Z')])
  await expect(refused).rejects.toThrow('restart 1 of ctr-pserver-0')
  expect(created.map(({ kind }) => kind)).toEqual(['Event', 'Command'])
  expect(created[0]).toMatchObject({
    reason: 'ProgramRestarted',
    involvedObject: { kind: 'Job', name: 'ctr' },
    message: 'The program of ctr-pserver-0 ended with exit code 1: General Error | no room',
  })
  expect(created[1]).toMatchObject({ action: 'AbortJob', target: { name: 'ctr' } })
})

test('while a pod of the job is missing, nothing is aborted: Volcano is about to start it anew', async () => {
  const end = new AbortController()
  const { refused, created } = started([pod(1, '2026-01-01T00:00:10Z')], { podCount: 2, end })
  setTimeout(() => end.abort(), 700)
  await expect(refused).rejects.toThrow()
  expect(created).toEqual([])
})

test('the event names the program that ended first, a killed one before the errors that followed', async () => {
  const killed = structuredClone(pod(1, ''))
  killed.metadata.name = 'ctr-pserver-1'
  Object.assign(killed.status.containerStatuses[0]!.lastState.terminated, { exitCode: 137, message: 'Killed' })
  const { refused, created } = started([pod(1, '2026-01-01T00:00:10Z')], { others: [killed], podCount: 2 })
  await expect(refused).rejects.toThrow('The job ctr is being aborted.')
  expect(created[0]).toMatchObject({ message: 'The program of ctr-pserver-1 ended with exit code 137: Killed' })
})

test('of all pods that were started again one aborts the job', async () => {
  const names = new Set<string>()
  const created: string[] = []
  const create = async <T>(object: T) => {
    const { kind, metadata } = object as { kind: string; metadata: { name: string } }
    if (names.has(`${kind} ${metadata.name}`)) throw new KubeError(409, 'it exists', { code: 'KUBE_EXISTS' })
    names.add(`${kind} ${metadata.name}`)
    created.push(kind)
    return object
  }
  const refuse = async (name: string) => {
    const own = structuredClone(pod(1, '2026-01-01T00:00:10Z'))
    Object.assign(own.metadata, { name, uid: name })
    const client = { create, list: async () => ({ metadata: {}, items: [own] }) as never }
    const job = { begunAt: BEGUN, say: () => undefined, signal: new AbortController().signal, podCount: 2 }
    await refuseRestart({ ...job, client, podName: name, pods: async () => [pod(1, ''), pod(1, '')] as never })
  }
  const ends = await Promise.allSettled(['ctr-pserver-0', 'ctr-pserver-1', 'ctr-trainer-0'].map(refuse))
  for (const end of ends)
    expect(String((end as PromiseRejectedResult).reason)).toContain('The job ctr is being aborted.')
  expect(created).toEqual(['Event', 'Command'])
})

test('training that makes cuts goes on when a program was killed, and is aborted when one failed by itself', async () => {
  const killed = structuredClone(pod(1, ''))
  Object.assign(killed.status.containerStatuses[0]!.lastState.terminated, { exitCode: 137 })
  const life = [pod(1, '2026-01-01T00:00:10Z')]
  const goesOn = started(life, { others: [killed], podCount: 2, goesOn: true })
  await goesOn.refused
  expect(goesOn.created).toEqual([])
  const failed = started(life, { others: [pod(1, '')], podCount: 2, goesOn: true })
  await expect(failed.refused).rejects.toThrow('The job ctr is being aborted.')
})

test.each([
  ['cd workspace && oarfish train -m config.yaml', true],
  ['oarfish tool static_ps_trainer -m config.yaml', true],
  ['oarfish exec train.ts', false],
])('%s makes cuts: %s', (line, expected) => {
  expect(makesCuts(line)).toBe(expected)
})
