import { expect, test } from 'vitest'
import { podPlacement, readRenderedPod } from './rendered-pod.ts'

const ENV = {
  ...{ OARFISH_JOB_NAME: 'ctr', OARFISH_ROLE: 'trainer', OARFISH_PSERVERS: '1', OARFISH_TRAINERS: '11' },
  ...{ OARFISH_PORT: '6170', POD_NAME: 'ctr-trainer-10', POD_NAMESPACE: 'default', OARFISH_RUN_TOKEN: 'secret' },
}
const pod = (name: string, i: number, annotations = {}) => ({
  metadata: { name, annotations },
  status: { phase: 'Running', podIP: `10.0.0.${i}` },
})
/** Pods as the API lists them: in the order of their names as texts. */
const listing =
  (trainers: readonly object[]) =>
  async (_resource: unknown, { labels = '' } = {}) =>
    ({ metadata: {}, items: labels.includes('role=trainer') ? trainers : [pod('ctr-pserver-0', 100)] }) as never
const placementOf = (trainers: readonly object[], env = ENV) =>
  podPlacement(readRenderedPod(env), {
    client: { list: listing(trainers) },
    say: () => undefined,
    signal: AbortSignal.timeout(100_000),
  })

test('ranks follow the numbers in the names of pods, not their texts', async () => {
  const numbers = [0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9]
  const { addresses, own } = await placementOf(numbers.map((i) => pod(`ctr-trainer-${i}`, i)))
  expect(addresses.workers).toEqual(Array.from({ length: 11 }, (_, i) => `10.0.0.${i}:6170`))
  expect(addresses.servers).toEqual(['10.0.0.100:6170'])
  expect(own).toEqual([{ role: 'worker', rank: 10, endpoint: '10.0.0.10:6170', sockets: [] }])
})

test('pods of plain Jobs are numbered by their annotation', async () => {
  const index = 'batch.kubernetes.io/job-completion-index'
  const trainers = [1, 0].map((i) => pod(`ctr-trainer-${i}-${i === 0 ? 'z9x' : 'a1b'}`, i, { [index]: String(i) }))
  const { own } = await placementOf(trainers, { ...ENV, OARFISH_TRAINERS: '2', POD_NAME: 'ctr-trainer-0-z9x' })
  expect(own[0]).toMatchObject({ rank: 0, endpoint: '10.0.0.0:6170' })
})

test('a pod that others have pushed out of its job says so', async () => {
  await expect(placementOf([pod('x-0', 1)], { ...ENV, OARFISH_TRAINERS: '1' })).rejects.toThrow(
    'The pod ctr-trainer-10 is not among those of its role, trainer: x-0.',
  )
})

test('outside of a pod the missing variables are named', () => {
  expect(() => readRenderedPod({ ...ENV, POD_NAME: '' })).toThrow('POD_NAME: not set in this pod.')
})
