/** @file `host:port` as launchers and role makers write it. */
import { UserError } from '../util/index.ts'

export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** The host is what stands before the last colon, so that `[::1]:7000` works; undefined when it is not `host:port`. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const [, host, digits] = /^(\[[^\]\s]+\]|[^:\s]+):(\d{1,5})$/.exec(text.trim()) ?? []
  const port = Number(digits)
  return host !== undefined && port >= 1 && port <= 65_535 ? { host, port } : undefined
}

/** The entries of a comma-separated list, trimmed; empty ones (a comma at the end) are left out. */
export function splitList(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/** The endpoints of a list, each checked and none twice; `name` is where the list stands, for the error. */
export function parseEndpoints(name: string, text: string): readonly string[] {
  const entries = splitList(text)
  const wrong = entries.find((entry) => !parseEndpoint(entry))
  if (wrong !== undefined)
    throw new UserError(`${name}: expected host:port entries separated by commas, got "${wrong}" in "${text}".`, {
      code: 'CLUSTER_ENDPOINT',
      hint: 'Write for example 10.0.0.1:7000,10.0.0.2:7000',
    })
  const twice = entries.find((entry, i) => entries.indexOf(entry) !== i)
  if (twice !== undefined)
    throw new UserError(`${name}: ${twice} stands there twice, and two processes cannot listen on one endpoint.`, {
      code: 'CLUSTER_ENDPOINT',
      hint: 'Give each process of a host a port of its own.',
    })
  return entries
}
