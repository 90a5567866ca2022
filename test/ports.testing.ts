/**
 * @file Ports for tests that must name one before they listen. A port that was merely free a moment ago may be given to a test
 * that runs beside this one, or to an outgoing connection; these are given to nobody else while this process lives.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const LOOPBACK = '127.0.0.1'
const LOWEST = 10_000

/** Outgoing connections have ports from here on. */
function firstEphemeral(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/)[0])
  } catch {
    return 32_768 // Linux's default; other systems begin at 49152
  }
}

/** Ports that nobody listens at and no other test is given, all different. */
export async function freePorts(count: number): Promise<number[]> {
  return await freeStretches(count, 1)
}

/** First ports of so many stretches of free ports. */
export async function freeStretches(count: number, length: number): Promise<number[]> {
  const highest = firstEphemeral() - length
  const found: number[] = []
  let first = LOWEST + Math.floor(Math.random() * (highest - LOWEST))
  for (let tried = LOWEST; found.length < count; tried++) {
    if (tried === highest) throw new Error(`no ${count} x ${length} free ports between ${LOWEST} and ${highest}`)
    if (await takeAll(first, length)) {
      found.push(first)
      first += length
    } else first++
    if (first >= highest) first = LOWEST
  }
  return found
}

async function takeAll(first: number, length: number): Promise<boolean> {
  for (let port = first; port < first + length; port++) if (!(await take(port))) return false
  return true
}

export async function freePort(): Promise<number> {
  return (await freePorts(1))[0]!
}

export async function freeEndpoints(count: number): Promise<string[]> {
  return (await freePorts(count)).map((port) => `${LOOPBACK}:${port}`)
}

/**
 * Marks a port as this process's by its UDP twin, which stays bound until the process ends: servers under test listen by TCP, so the
 * mark is not in their way.
 */
async function take(port: number): Promise<boolean> {
  const mark = createSocket('udp4').unref()
  mark.bind({ port, address: LOOPBACK, exclusive: true })
  if (!(await succeeds(once(mark, 'listening')))) return false
  const server = createServer().listen(port, LOOPBACK)
  if (!(await succeeds(once(server, 'listening')))) {
    mark.close()
    return false
  }
  await once(server.close(), 'close')
  return true
}

function succeeds(event: Promise<unknown>): Promise<boolean> {
  return event.then(
    () => true,
    () => false,
  )
}
