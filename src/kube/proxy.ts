/** @file The proxy that stands in the environment, for a server: as kubectl takes it. Pure. */
import type { Env } from '../env/index.ts'

/** Undefined where none is set, the server is on this host, or NO_PROXY excepts it. */
export function proxyFor(server: string, env: Env): string | undefined {
  const { protocol, hostname } = new URL(server)
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const proxy = env[name] ?? env[name.toLowerCase()] ?? ''
  if (proxy === '' || isHere(hostname)) return undefined
  const excepted = (env['NO_PROXY'] ?? env['no_proxy'] ?? '').split(',').map((entry) => entry.trim())
  return excepted.some((entry) => covers(entry, hostname)) ? undefined : proxy
}

const isHere = (host: string) => host === 'localhost' || host === '[::1]' || host.startsWith('127.')

/** `*`, a name with what stands below it, an address, or a range of them (`10.0.0.0/8`). */
function covers(entry: string, host: string): boolean {
  if (entry === '' || entry === '*') return entry === '*'
  const [address = '', bits] = entry.split('/')
  if (bits !== undefined) return inRange(host, address, Number(bits))
  const name = entry.replace(/^\*?\./, '').replace(/:\d+$/, '')
  return host === name || host.endsWith(`.${name}`)
}

function inRange(host: string, base: string, bits: number): boolean {
  const [one, other] = [numberOf(host), numberOf(base)]
  if (one === undefined || other === undefined) return false
  const size = 2 ** (32 - bits)
  return Math.floor(one / size) === Math.floor(other / size)
}

function numberOf(address: string): number | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1).map(Number)
  return parts?.reduce((sum, part) => sum * 256 + part, 0)
}
