/** @file Launchers at one master: who has a place, and what the others are told. */
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { clientHandshake, Peer, reach, socketTransport } from '../../base/net/index.ts'
import { rendezvous } from './rendezvous.ts'
import { identityOf, JOIN } from './rendezvous-master.ts'

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => void server.close(resolve))
  return port
}

/** A launcher with one process at this port. */
const launcher = (...which: Parameters<typeof optionsOf>) => rendezvous(optionsOf(...which))

function optionsOf(
  master: string,
  port: number,
  nodeRank: number | undefined,
  jobId = 'job',
  nodes = { min: 3, max: 3 },
) {
  return {
    ...{ master, isMasterHere: nodeRank === 0 || nodeRank === undefined, timeoutMs: 20_000, notice: () => undefined },
    layout: { nodes, nodeRank, sortByAddress: false, elasticTimeoutMs: nodes.min < nodes.max ? 10_000 : 0 },
    own: { host: '127.0.0.1', devices: [[0]], endpoints: [`127.0.0.1:${port}`] },
    job: { id: jobId, token: 'secret' },
    signal: AbortSignal.timeout(30_000),
  }
}

test('two launchers of one rank, or with one port, or of another job: the second is refused, and the job begins without it', async () => {
  const master = `127.0.0.1:${await freePort()}`
  const good = [launcher(master, 7001, 0), launcher(master, 7002, 1)]
  // Both are there before the next ask: a request is answered in its order.
  await new Promise((resolve) => setTimeout(resolve, 500))
  await expect(launcher(master, 7003, 1)).rejects.toMatchObject({
    code: 'LAUNCH_NODES',
    message: expect.stringContaining('another host has node rank 1'),
  })
  await expect(launcher(master, 7002, 2)).rejects.toMatchObject({
    code: 'LAUNCH_NODES',
    message: expect.stringContaining('another host has brought 127.0.0.1:7002'),
  })
  await expect(launcher(master, 7004, 2, 'other')).rejects.toMatchObject({ message: expect.stringContaining('job') })
  const all = await Promise.all([...good, launcher(master, 7005, 2)])
  expect(all.map(({ own }) => own)).toEqual([0, 1, 2])
  for (const { leave } of all) leave()
})

test('a second master at the address of the first is told that it is taken', async () => {
  const master = `127.0.0.1:${await freePort()}`
  const first = launcher(master, 7001, 0)
  await new Promise((resolve) => setTimeout(resolve, 300))
  await expect(launcher(master, 7009, 0)).rejects.toMatchObject({ message: expect.stringContaining(master) })
  const all = await Promise.all([first, launcher(master, 7002, 1), launcher(master, 7003, 2)])
  for (const { leave } of all) leave()
})

test('a host that comes back while the master still stops its ranks waits for the next meeting, though all places of this one are taken', async () => {
  const master = `127.0.0.1:${await freePort()}`
  const elastic = (port: number) => launcher(master, port, undefined, 'job', { min: 1, max: 2 })
  const [first, second] = await Promise.all([elastic(7001), elastic(7002)])
  const [held, other] = first!.own === 0 ? [first!, second!] : [second!, first!]
  held.announce('127.0.0.1 has come')
  await other.changed
  const again = elastic(7003)
  again.catch(() => undefined) // looked at below
  // It is there, and neither refused nor given a place.
  expect(await Promise.race([again.catch(String), new Promise((resolve) => setTimeout(resolve, 500, 'waits'))])).toBe(
    'waits',
  )
  held.leave('all meet again')
  await expect(again).rejects.toThrow('all meet again')
  other.leave()
})

test('where the launcher at the address of the master is about to end, another of its host takes its place', async () => {
  const master = `127.0.0.1:${await freePort()}`
  const ending = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => void ending.listen(Number(master.split(':')[1]), '127.0.0.1', resolve))
  const both = [7001, 7002].map((port) => launcher(master, port, undefined, 'job', { min: 1, max: 2 }))
  await new Promise((resolve) => setTimeout(resolve, 300))
  ending.close()
  const all = await Promise.all(both)
  expect(all.map(({ own }) => own).sort()).toEqual([0, 1])
  for (const { leave } of all) leave()
})

test('who says that it joins when the master has just left comes to the next meeting', async () => {
  const master = `127.0.0.1:${await freePort()}`
  const elastic = (port: number) => optionsOf(master, port, undefined, 'job', { min: 1, max: 2 })
  const all = await Promise.all([7001, 7002].map((port) => rendezvous(elastic(port))))
  const late = elastic(7003)
  const who = 'the master'
  const { connection } = await reach({
    ...{ transport: socketTransport, endpoint: master, who, timeoutMs: 5000, tls: undefined },
    greet: (fresh) => clientHandshake(fresh, who, identityOf(late)),
  })
  all.find(({ own }) => own === 0)!.leave('all meet again')
  const peer = new Peer(connection, { who, onLost: () => undefined })
  const own = { node: late.own, id: '0123456789ab', number: 1, resumes: true }
  const asked = peer.request(JOIN, [Buffer.from(JSON.stringify(own))], { timeoutMs: 5000, what: 'to join' })
  await expect(asked).rejects.toThrow('the hosts meet again')
  peer.leave()
  all.find((one) => one.own === 1)!.leave()
})
