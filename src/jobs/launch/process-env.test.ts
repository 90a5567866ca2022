import { expect, test } from 'vitest'
import { fleetrunEnv, launchPsEnv } from './process-env.ts'

const JOB = { servers: ['127.0.0.1:1', '127.0.0.1:2'], workers: ['127.0.0.1:3', '127.0.0.1:4'], workerNum: 2 }
const GLOO = { endpoint: '127.0.0.1:5', folder: '/tmp/gloo' }
const CALLER = { HOME: '/root', http_proxy: 'p', https_proxy: 'p', PADDLE_TRAINER_ID: '7' }

test('a server of fleetrun gets these variables and no rank', () => {
  const own = { role: 'server', rank: 1, endpoint: '127.0.0.1:2' } as const
  expect(fleetrunEnv(CALLER, JOB, own, GLOO)).toEqual({
    HOME: '/root',
    PADDLE_PSERVERS_IP_PORT_LIST: '127.0.0.1:1,127.0.0.1:2',
    PADDLE_TRAINER_ENDPOINTS: '127.0.0.1:3,127.0.0.1:4',
    PADDLE_COORDINATOR_ENDPOINTS: '',
    PADDLE_PORT: '2',
    POD_IP: '127.0.0.1',
    TRAINING_ROLE: 'PSERVER',
    PADDLE_TRAINERS_NUM: '2',
    PADDLE_WITH_GLOO: '0',
    PADDLE_GLOO_RENDEZVOUS: '3',
    PADDLE_GLOO_FS_PATH: '/tmp/gloo',
    PADDLE_GLOO_HTTP_ENDPOINT: '127.0.0.1:5',
  })
})

test('a worker of fleetrun gets the same, its rank and its device', () => {
  const own = { role: 'worker', rank: 0, endpoint: '127.0.0.1:3' } as const
  expect(fleetrunEnv({ PADDLE_WITH_GLOO: '1' }, JOB, own, GLOO)).toEqual({
    PADDLE_PSERVERS_IP_PORT_LIST: '127.0.0.1:1,127.0.0.1:2',
    PADDLE_TRAINER_ENDPOINTS: '127.0.0.1:3,127.0.0.1:4',
    PADDLE_COORDINATOR_ENDPOINTS: '',
    PADDLE_PORT: '3',
    POD_IP: '127.0.0.1',
    TRAINING_ROLE: 'TRAINER',
    PADDLE_TRAINERS_NUM: '2',
    PADDLE_TRAINER_ID: '0',
    PADDLE_WITH_GLOO: '1',
    PADDLE_GLOO_RENDEZVOUS: '3',
    PADDLE_GLOO_FS_PATH: '/tmp/gloo',
    PADDLE_GLOO_HTTP_ENDPOINT: '127.0.0.1:5',
    FLAGS_selected_gpus: '0',
    FLAGS_selected_xpus: '0',
    CUDA_VISIBLE_DEVICES: '0',
    XPU_VISIBLE_DEVICES: '0',
    OARFISH_DEVICE: '', // nobody asked for one
  })
  const asked = fleetrunEnv({ CUDA_VISIBLE_DEVICES: '1' }, JOB, own, GLOO)
  expect(asked['OARFISH_DEVICE']).toBeUndefined()
})

test("launch_ps sets Paddle 1.x's variables; a worker does not see a server's port", () => {
  expect(launchPsEnv(CALLER, { ...JOB, workers: [] }, { role: 'server', rank: 0, endpoint: '127.0.0.1:1' })).toEqual({
    HOME: '/root',
    PADDLE_PSERVERS_IP_PORT_LIST: '127.0.0.1:1,127.0.0.1:2',
    PADDLE_PORT: '1',
    TRAINING_ROLE: 'PSERVER',
    PADDLE_TRAINERS_NUM: '2',
    POD_IP: '127.0.0.1',
  })
  expect(launchPsEnv(CALLER, { ...JOB, workers: [] }, { role: 'worker', rank: 1, endpoint: '' })).toEqual({
    HOME: '/root',
    PADDLE_PSERVERS_IP_PORT_LIST: '127.0.0.1:1,127.0.0.1:2',
    TRAINING_ROLE: 'TRAINER',
    PADDLE_TRAINERS_NUM: '2',
    PADDLE_TRAINER_ID: '1',
  })
})
