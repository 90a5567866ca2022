/** @file Flags of collective jobs as hosts, processes, devices and variables. */
import { expect, test } from 'vitest'
import { type CollectiveFlags, collectiveLayout, overrideByEnv } from './collective-layout.ts'
import { collectiveEnv } from './process-env.ts'

const FOUR = { count: 4, lookedFor: '' }

test('--gpus asks for devices where there are some, and not where there are none', () => {
  expect(collectiveLayout({ gpus: '0,1' }, {}, FOUR)).toMatchObject({ device: 'gpu', notices: [] })
  expect(collectiveLayout({ gpus: '0,1' }, {})).toMatchObject({ device: '', devices: [[0], [1]] })
  expect(collectiveLayout({}, {}, FOUR).device).toBeUndefined()
})

test('one process on an automatic port where nothing is asked for', () => {
  const { hosts, devices, startPort, nodes } = collectiveLayout({}, {})
  expect({ hosts, devices, startPort, nodes }).toEqual({
    hosts: ['127.0.0.1'],
    devices: [[]],
    startPort: undefined,
    nodes: { min: 1, max: 1 },
  })
})

test('a host with devices starts a process for each that is visible', () => {
  expect(collectiveLayout({}, {}, FOUR).devices).toEqual([[0], [1], [2], [3]])
  expect(collectiveLayout({}, { CUDA_VISIBLE_DEVICES: '2,3' }, FOUR).devices).toEqual([[0], [1]])
  expect(collectiveLayout({ nproc_per_node: 2 }, {}, FOUR).devices).toEqual([
    [0, 1],
    [2, 3],
  ])
})

test('ids count among the visible devices, and the processes are started also on the CPU, which is said', () => {
  const layout = collectiveLayout({ ips: 'x,y', gpus: '4,5' }, { CUDA_VISIBLE_DEVICES: '4,5,6,7' })
  expect(layout.devices).toEqual([[0], [1]])
  expect(layout.startPort).toBe(6070)
  expect(layout.notices).toEqual(['No device was found: --gpus 4,5 starts 2 processes on the CPU. '])
})

test('CUDA_VISIBLE_DEVICES starts a process for each device it names, also on the CPU, which is said', () => {
  const { devices, notices } = collectiveLayout({}, { CUDA_VISIBLE_DEVICES: '0,1,2,3' })
  expect(devices).toEqual([[0], [1], [2], [3]])
  expect(notices).toEqual(['No device was found: CUDA_VISIBLE_DEVICES=0,1,2,3 starts 4 processes on the CPU. '])
  // What a launcher sets for its own processes, and what stands for no device, start one.
  for (const one of ['0', '-1', '', 'NoDevFiles'])
    expect(collectiveLayout({}, { CUDA_VISIBLE_DEVICES: one }).devices, one).toHaveLength(1)
  expect(collectiveLayout({ nproc_per_node: 3 }, { CUDA_VISIBLE_DEVICES: '0,1,2,3' }).devices).toHaveLength(3)
})

test('FLAGS_START_PORT and start_port give fixed ports, the flag first', () => {
  expect(collectiveLayout({}, { FLAGS_START_PORT: '7000' }).startPort).toBe(7000)
  expect(collectiveLayout({ start_port: 8000 }, { FLAGS_START_PORT: '7000' }).startPort).toBe(8000)
})

test('pods of a scheduler are the hosts, with the ports it gave', () => {
  const env = { PADDLE_TRAINERS: '10.0.0.1,10.0.0.2', TRAINER_PORTS_NUM: '4', PADDLE_PORT: '2379', POD_IP: '10.0.0.2' }
  const { hosts, startPort, host } = collectiveLayout({ nproc_per_node: 2 }, env)
  expect([hosts, startPort, host]).toEqual([['10.0.0.1', '10.0.0.2'], 2379, '10.0.0.2'])
})

test.each<[CollectiveFlags, Record<string, string>, number, string]>([
  [{ ips: '10.0.0.1,127.0.0.1' }, {}, 0, '127.0.0.1 in ips is not allowed in multi-nodes: 10.0.0.1,127.0.0.1.'],
  [{ ips: 'a,b,a' }, {}, 0, '--ips: a is listed twice.'],
  [{ nproc_per_node: 3 }, {}, 2, '3 processes are asked for, but this host has 2 devices that are visible.'],
  [{ gpus: '0,1,2' }, {}, 2, '--gpus: there is no device 2; this host has 2, counted from 0.'],
  [{ gpus: '0,1,2', nproc_per_node: 2 }, {}, 0, "gpus' number:3 mod args.nproc_per_node:2 must == 0"],
  [{ gpus: '3' }, { CUDA_VISIBLE_DEVICES: '0,1' }, 0, "Can't find your gpus 3 in CUDA_VISIBLE_DEVICES[0,1]."],
  [{ gpus: 'a' }, {}, 0, '--gpus: expected numbers of devices, got "a".'],
  [{ require_device: true }, {}, 0, '--require_device: no device was found. Looked for one.'],
  [{ nnodes: '4:1' }, {}, 0, '--nnodes: expected a number of hosts or min:max, got "4:1".'],
  [{ nnodes: 'two' }, {}, 0, '--nnodes: expected a number of hosts or min:max, got "two".'],
  [{ nproc_per_node: 0 }, {}, 0, '--nproc_per_node: at least one process is needed.'],
  [{ ips: 'a,b', master: 'a:1' }, {}, 0, '--ips and --master cannot stand together.'],
])('%j with %j and %i devices is refused', (flags, env, devices, message) => {
  expect(() => collectiveLayout(flags, env, { count: devices, lookedFor: 'Looked for one.' })).toThrow(message)
})

test('variables stand above flags, and each is named', () => {
  const { flags, notices } = overrideByEnv({ nnodes: '2', rank: 0 }, { PADDLE_NNODES: '3', PADDLE_RANK: '1' })
  expect(flags).toEqual({ nnodes: '3', rank: 1 })
  expect(notices).toEqual([
    'LAUNCH WARNING args nnodes will be overridden by env: PADDLE_NNODES value: 3',
    'LAUNCH WARNING args rank will be overridden by env: PADDLE_RANK value: 1',
  ])
})

test('the variables of a rank are those of both generations', () => {
  const node = (host: string) => ({ host, endpoints: [`${host}:6070`, `${host}:6071`], devices: [[0], [1]] })
  const job = {
    nodes: [node('x'), node('y')],
    master: 'x:6070',
    logDir: 'log',
    glooFolder: '/tmp/g',
    podName: 'abcdef',
  }
  expect(collectiveEnv({ HOME: '/root', http_proxy: 'p', PADDLE_TRAINER_ID: '7' }, job, 1, 1)).toEqual({
    HOME: '/root',
    PADDLE_TRAINER_ID: '3',
    PADDLE_CURRENT_ENDPOINT: 'y:6071',
    PADDLE_TRAINERS_NUM: '4',
    PADDLE_TRAINER_ENDPOINTS: 'x:6070,x:6071,y:6070,y:6071',
    PADDLE_RANK_IN_NODE: '1',
    PADDLE_LOCAL_DEVICE_IDS: '1',
    PADDLE_WORLD_DEVICE_IDS: '0,1,0,1',
    FLAGS_selected_gpus: '1',
    FLAGS_selected_accelerators: '1',
    PADDLE_WITH_GLOO: '0',
    PADDLE_GLOO_RENDEZVOUS: '3',
    PADDLE_GLOO_FS_PATH: '/tmp/g',
    PADDLE_DISTRI_BACKEND: 'gloo',
    PADDLE_MASTER: 'x:6070',
    PADDLE_GLOBAL_SIZE: '4',
    PADDLE_LOCAL_SIZE: '2',
    PADDLE_GLOBAL_RANK: '3',
    PADDLE_LOCAL_RANK: '1',
    PADDLE_NNODES: '2',
    PADDLE_AUTO_CLUSTER: '0',
    PADDLE_LOG_DIR: 'log',
    POD_NAME: 'abcdef',
  })
})
