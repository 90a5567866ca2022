import { describe, expect, test } from 'vitest'
import { endpointText, type FleetrunFlags, fleetrunLayout, launchPsLayout } from './layout.ts'

const texts = (flags: FleetrunFlags, env = {}) => {
  const { servers, workers, gloo } = fleetrunLayout(flags, env)
  return { servers: servers.map(endpointText), workers: workers.map(endpointText), gloo: endpointText(gloo!) }
}

describe('fleetrun', () => {
  test('FLAGS_START_PORT gives servers, then workers, then Gloo one port after the other', () => {
    expect(texts({ server_num: 2, worker_num: 2 }, { FLAGS_START_PORT: '7000' })).toEqual({
      servers: ['127.0.0.1:7000', '127.0.0.1:7001'],
      workers: ['127.0.0.1:7002', '127.0.0.1:7003'],
      gloo: '127.0.0.1:7004',
    })
  })

  test('numbers alone ask for automatic ports on this host', () => {
    const { servers, workers, gloo } = fleetrunLayout({ server_num: 1, worker_num: 2 }, {})
    const automatic = { host: '127.0.0.1', port: undefined }
    expect({ servers, workers, gloo }).toEqual({
      servers: [automatic],
      workers: [automatic, automatic],
      gloo: automatic,
    })
  })

  test('workers without ports get fixed ones after the servers, in the order of the list', () => {
    expect(texts({ servers: 'a:1,b:1', workers: 'a,b,a' })).toEqual({
      servers: ['a:1', 'b:1'],
      workers: ['a:6172', 'b:6173', 'a:6174'],
      gloo: 'a:6175',
    })
    expect(texts({ servers: 'a:1', workers: 'a:9,b' }).workers).toEqual(['a:6171', 'b:6172'])
  })

  test('trainers and trainer_num are other names of workers and worker_num, http_port is the port of Gloo', () => {
    expect(texts({ servers: 'a:1', trainers: 'a:2', http_port: 99 })).toMatchObject({ workers: ['a:2'], gloo: 'a:99' })
    expect(fleetrunLayout({ server_num: 1, trainer_num: 3 }, {}).workers).toHaveLength(3)
  })

  test.each<[FleetrunFlags, string]>([
    [{ worker_num: 1 }, 'The setting of Parameter-Server must has server_num or servers.'],
    [{ servers: 'a:1' }, 'The setting of Parameter-Server must has worker_num or workers.'],
    [{ server_num: 2, servers: 'a:1', worker_num: 1 }, "The server_num and servers doesn't match"],
    [{ server_num: 0, worker_num: 1 }, '--server_num: at least one server is needed.'],
    [{ servers: 'a', worker_num: 1 }, '--servers: expected host:port'],
    [{ servers: 'a:1,a:1', worker_num: 1 }, 'a:1 stands there twice'],
    [{ servers: 'a:1', workers: 'a:1' }, 'a:1 is asked for twice'],
    [{ run_mode: 'ps-heter' }, 'not part of Oarfish'],
    [{ run_mode: 'psx' }, '--run_mode: expected ps or collective, got "psx".'],
  ])('%j is refused with the reason', (flags, message) => {
    expect(() => fleetrunLayout(flags, {})).toThrow(message)
  })
})

describe('launch_ps', () => {
  test('starts two servers from port 6170 and two workers without ports', () => {
    const { servers, workers, gloo, workersListen } = launchPsLayout({})
    expect(servers.map(endpointText)).toEqual(['127.0.0.1:6170', '127.0.0.1:6171'])
    expect([workers.length, gloo, workersListen]).toEqual([2, undefined, false])
  })

  test('takes endpoints and a start port', () => {
    expect(launchPsLayout({ endpoints: '127.0.0.1:9,127.0.0.1:10,127.0.0.1:12' }).servers).toHaveLength(3)
    expect(launchPsLayout({ start_port: 8000, server_num: 1 }).servers.map(endpointText)).toEqual(['127.0.0.1:8000'])
    expect(() => launchPsLayout({ endpoints: 'a:1', server_num: 2 })).toThrow(
      "The server_num and endpoints doesn't match",
    )
  })
})
