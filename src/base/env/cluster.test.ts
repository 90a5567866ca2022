import { describe, expect, test } from 'vitest'
import { clusterFromEnv, LOCAL_CLUSTER } from './cluster.ts'
import { userDefinedCluster } from './user-defined-role.ts'

const SERVERS = '10.0.0.1:7000,10.0.0.2:7000'
const WORKER = {
  PADDLE_PSERVERS_IP_PORT_LIST: SERVERS,
  PADDLE_TRAINER_ENDPOINTS: '10.0.0.1:7100,10.0.0.2:7100',
  PADDLE_TRAINERS_NUM: '2',
  TRAINING_ROLE: 'TRAINER',
  PADDLE_TRAINER_ID: '1',
  PADDLE_PORT: '7100',
  POD_IP: '10.0.0.2',
}
const SERVER = { ...WORKER, TRAINING_ROLE: 'PSERVER', PADDLE_PORT: '7000', PADDLE_TRAINER_ID: undefined }

describe('clusterFromEnv', () => {
  test('a worker knows its rank, its endpoint and everybody else', () => {
    expect(clusterFromEnv({ ...WORKER, OARFISH_JOB_ID: 'j', OARFISH_JOB_TOKEN: 't' })).toEqual({
      role: 'worker',
      rank: 1,
      servers: ['10.0.0.1:7000', '10.0.0.2:7000'],
      workers: ['10.0.0.1:7100', '10.0.0.2:7100'],
      workerNum: 2,
      endpoint: '10.0.0.2:7100',
      jobId: 'j',
      token: 't',
      inherited: {},
    })
  })

  test("a server's rank is the place of its endpoint in the list", () => {
    expect(clusterFromEnv(SERVER)).toMatchObject({ role: 'server', rank: 1, endpoint: '10.0.0.2:7000' })
    const byId = { ...SERVER, POD_IP: undefined, PADDLE_PSERVER_ID: '0' }
    expect(clusterFromEnv(byId)).toMatchObject({ rank: 0, endpoint: '10.0.0.1:7000' })
  })

  test('without a server list there is no cluster, unless the process is to be a server', () => {
    expect(clusterFromEnv({})).toEqual(LOCAL_CLUSTER)
    expect(clusterFromEnv({ TRAINING_ROLE: 'TRAINER' })).toEqual(LOCAL_CLUSTER)
    expect(() => clusterFromEnv({ TRAINING_ROLE: 'PSERVER' })).toThrow('Can not find PADDLE_PSERVERS_IP_PORT_LIST')
  })

  test('workers of launch_ps have no endpoint', () => {
    const env = { ...WORKER, PADDLE_TRAINER_ENDPOINTS: undefined, PADDLE_PORT: undefined, POD_IP: undefined }
    expect(clusterFromEnv(env)).toMatchObject({ role: 'worker', rank: 1, workers: [], endpoint: '' })
  })

  test('job id and token are equal on all processes of a job, differ between jobs, and say that they were derived', () => {
    const [worker, server] = [clusterFromEnv(WORKER), clusterFromEnv(SERVER)]
    expect([server.jobId, server.token]).toEqual([worker.jobId, worker.token])
    expect(worker.derivedToken).toBe(true)
    const other = clusterFromEnv({ ...SERVER, PADDLE_TRAINERS_NUM: '3', PADDLE_TRAINER_ENDPOINTS: '' })
    expect(other.token).not.toBe(worker.token)
    expect(clusterFromEnv({ ...WORKER, SYS_JOB_ID: 'named' }).jobId).toBe('named')
  })

  test('inherited sockets are read by port', () => {
    expect(clusterFromEnv({ ...SERVER, OARFISH_LISTEN_FDS: '7000:4,7009:5' }).inherited).toEqual({ 7000: 4, 7009: 5 })
  })

  const need = (name: string) => `Can not find ${name}, please check your environment.`
  test.each<[object, string]>([
    [{ PADDLE_TRAINERS_NUM: undefined }, need('PADDLE_TRAINERS_NUM')],
    [{ TRAINING_ROLE: '' }, need('TRAINING_ROLE')],
    [{ PADDLE_TRAINER_ID: undefined }, need('PADDLE_TRAINER_ID')],
    [{ PADDLE_PORT: undefined }, need('PADDLE_PORT')],
    [{ POD_IP: undefined }, need('POD_IP')],
    [
      { TRAINING_ROLE: 'WORKER' },
      'TRAINING_ROLE must be PSERVER or TRAINER or HETER_TRAINER or COORDINATOR, but get WORKER, please check your environment.',
    ],
    [{ TRAINING_ROLE: 'HETER_TRAINER' }, 'Heterogeneous training is not part of Oarfish.'],
    [{ TRAINING_ROLE: 'COORDINATOR' }, 'Federated training with a coordinator is not part of Oarfish.'],
    [{ OARFISH_REQUIRE_TOKEN: 'true' }, 'OARFISH_REQUIRE_TOKEN: expected 1 or 0, got "true".'],
    [
      { OARFISH_REQUIRE_TOKEN: 'true', OARFISH_JOB_TOKEN: 'of-this-test-whole' },
      'OARFISH_REQUIRE_TOKEN: expected 1 or 0, got "true".',
    ],
    [
      { OARFISH_REQUIRE_TOKEN: '1', OARFISH_JOB_TOKEN: 'word' },
      'OARFISH_JOB_TOKEN has 4 characters, fewer than the 16 of one that cannot be guessed, and OARFISH_REQUIRE_TOKEN=1 asks for it.',
    ],
    [{ PADDLE_TRAINER_ID: '2' }, 'PADDLE_TRAINER_ID: expected a whole number from 0 to 1, got "2".'],
    [{ PADDLE_TRAINERS_NUM: 'two' }, 'PADDLE_TRAINERS_NUM: expected a whole number of at least 1, got "two".'],
    [{ PADDLE_TRAINERS_NUM: '3' }, 'PADDLE_TRAINERS_NUM: it is 3, but PADDLE_TRAINER_ENDPOINTS lists 2.'],
    [
      { PADDLE_PSERVERS_IP_PORT_LIST: 'a:1,b' },
      'PADDLE_PSERVERS_IP_PORT_LIST: expected host:port entries separated by commas, got "b" in "a:1,b".',
    ],
    [
      { PADDLE_PSERVERS_IP_PORT_LIST: 'a:1,a:1' },
      'PADDLE_PSERVERS_IP_PORT_LIST: a:1 stands there twice, and two processes cannot listen on one endpoint.',
    ],
    [{ OARFISH_LISTEN_FDS: '7000' }, 'OARFISH_LISTEN_FDS: expected port:fd, got "7000".'],
    [
      { PADDLE_WITH_GLOO: '1' },
      'gloo initialized error, please check arguments: PADDLE_GLOO_RENDEZVOUS is "0", expected 1 (HDFS), 2 (a shared folder) or 3 (HTTP).',
    ],
    [
      { PADDLE_WITH_GLOO: '2', PADDLE_GLOO_RENDEZVOUS: '3' },
      'gloo initialized error, please check arguments: PADDLE_GLOO_RENDEZVOUS is 3, which needs PADDLE_GLOO_HTTP_ENDPOINT.',
    ],
  ])('%j is refused with the reason', (change, message) => {
    expect(() => clusterFromEnv({ ...WORKER, ...change })).toThrow(message)
  })

  test('a server that is not in the list sees both', () => {
    expect(() => clusterFromEnv({ ...SERVER, PADDLE_PORT: '7001' })).toThrow(
      `This server is 10.0.0.2:7001 by POD_IP and PADDLE_PORT, which is not in PADDLE_PSERVERS_IP_PORT_LIST: ${SERVERS}.`,
    )
  })

  test('a missing variable comes with its meaning', () => {
    try {
      clusterFromEnv({ ...WORKER, PADDLE_TRAINER_ID: undefined })
      expect.unreachable()
    } catch (error) {
      expect((error as { hint: string }).hint).toContain('the rank of this worker, from 0 to PADDLE_TRAINERS_NUM - 1')
    }
  })
})

describe('userDefinedCluster', () => {
  const ROLE = { currentId: 0, role: 'worker', workerNum: 2, serverEndpoints: ['a:1', 'b:1'] } as const

  test('needs only a number of workers, or their endpoints', () => {
    expect(userDefinedCluster(ROLE)).toMatchObject({ role: 'worker', rank: 0, workerNum: 2, endpoint: '' })
    const named = userDefinedCluster({ ...ROLE, workerNum: 0, workerEndpoints: ['a:2', 'b:2', 'c:2'], currentId: 2 })
    expect(named).toMatchObject({ workerNum: 3, endpoint: 'c:2' })
    expect(userDefinedCluster({ ...ROLE, role: 'server', currentId: 1 })).toMatchObject({ rank: 1, endpoint: 'b:1' })
  })

  test.each<[object, string]>([
    [{ serverEndpoints: 'a:1' }, 'server_endpoints must be as string list'],
    [{ serverEndpoints: [] }, 'the length of server_endpoints list must be greater than 0'],
    [{ serverEndpoints: ['a:1', 'a:1'] }, "server_endpoints can't have duplicate elements"],
    [{ role: 'trainer' }, 'role must be as Role'],
    [{ currentId: 0.5 }, 'current_id must be as int'],
    [{ currentId: -1 }, 'current_id must be greater than or equal to 0'],
    [{ role: 'server', currentId: 2 }, 'current_id must be less than the number of servers, 2, but get 2'],
    [{ workerNum: 0 }, 'worker_num must be greater than 0'],
  ])("%j is refused in the original's words", (change, message) => {
    expect(() => userDefinedCluster({ ...ROLE, ...change })).toThrow(message)
  })
})
