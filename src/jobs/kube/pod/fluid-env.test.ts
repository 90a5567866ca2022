import { describe, expect, test } from 'vitest'
import type { Env } from '../../../base/env/index.ts'
import { fluidEnv, readFluidPod } from './fluid-env.ts'

const COMMON = { PADDLE_JOB_NAME: 'fluid-ctr', POD_NAME: 'ctr-trainer-1', POD_IP: '10.0.0.9', ENTRY: 'python train.py' }
const EDL: Env = {
  ...COMMON,
  TRAINING_ROLE: 'TRAINER',
  PADDLE_PSERVERS_NUM: '2',
  PADDLE_TRAINERS_NUM: '2',
  PADDLE_PORT: '30236',
}
const SERVERS = [
  { name: 'ctr-pserver-0', ip: '10.0.0.7' },
  { name: 'ctr-pserver-1', ip: '10.0.0.10' },
]
const TRAINERS = [
  { name: 'ctr-trainer-1', ip: '10.0.0.9' },
  { name: 'ctr-trainer-0', ip: '10.0.0.11' },
]
const envOf = (env: Env) => fluidEnv(env, readFluidPod(env), SERVERS, TRAINERS)

describe('a pod of EDL', () => {
  test('learns the servers in the order of their addresses as texts, and its number by its name', () => {
    expect(envOf(EDL)).toMatchObject({
      PADDLE_PSERVERS: '10.0.0.10:30236,10.0.0.7:30236',
      PADDLE_PSERVERS_IP_PORT_LIST: '10.0.0.10:30236,10.0.0.7:30236',
      PADDLE_PSERVER_IPS: '10.0.0.10,10.0.0.7',
      PADDLE_TRAINER_IPS: '10.0.0.11,10.0.0.9',
      PADDLE_TRAINER_ID: '1',
    })
  })

  test('that is a server stands in the list at the place of its id', () => {
    const env = envOf({ ...EDL, TRAINING_ROLE: 'PSERVER', POD_IP: '10.0.0.7', POD_NAME: 'ctr-pserver-0' })
    expect(env['PADDLE_PSERVER_ID']).toBe('1')
    expect(env['PADDLE_PSERVERS']!.split(',')[1]).toBe(`${env['POD_IP']}:${env['PADDLE_PORT']}`)
  })
})

test('a pod of PaddleCloud keeps its counts, and finds the addresses in PADDLE_PSERVER_IPS', () => {
  const env = envOf({ ...COMMON, TRAINING_ROLE: 'TRAINER', PADDLE_PSERVERS: '2', PADDLE_TRAINERS: '2' })
  expect(env).toMatchObject({
    ...{ PADDLE_PSERVERS: '2', PADDLE_TRAINERS: '2', PADDLE_PSERVER_IPS: '10.0.0.10,10.0.0.7', PADDLE_TRAINER_ID: '1' },
    ...{ PADDLE_PORT: '6174', PADDLE_TRAINERS_NUM: '2', PADDLE_TRAINING_ROLE: 'TRAINER' },
  })
})

test('without a token the pods of the job are named as all that may connect', () => {
  const all = '10.0.0.10,10.0.0.7,10.0.0.11,10.0.0.9'
  expect(envOf(EDL)['OARFISH_JOB_HOSTS']).toBe(all)
  const server = { ...EDL, TRAINING_ROLE: 'PSERVER', POD_IP: '10.0.0.7', POD_NAME: 'ctr-pserver-0' }
  expect(envOf(server)['OARFISH_JOB_HOSTS']).toBe(all)
  expect(envOf({ ...EDL, OARFISH_JOB_HOSTS: '10.0.0.1' })['OARFISH_JOB_HOSTS']).toBe('10.0.0.1')
  expect(envOf({ ...EDL, OARFISH_JOB_TOKEN: 'secret' })['OARFISH_JOB_HOSTS']).toBeUndefined()
})

test('a WORKER has no servers', () => {
  expect(readFluidPod({ ...EDL, TRAINING_ROLE: 'WORKER' }).servers).toBe(0)
})

test.each([
  [{ ENTRY: undefined }, 'ENTRY is not set in this pod.'],
  [{ TRAINING_ROLE: 'MASTER' }, 'TRAINING_ROLE is "MASTER", expected TRAINER, PSERVER, WORKER.'],
  [{ PADDLE_TRAINERS_NUM: 'two' }, 'PADDLE_TRAINERS_NUM is "two", expected a number of pods.'],
  [{ POD_NAME: 'other' }, 'The pod other (other) is not among those of its job: ctr-trainer-0, ctr-trainer-1.'],
])('%o is refused', (change, message) => {
  expect(() => envOf({ ...EDL, ...change })).toThrow(message)
})
