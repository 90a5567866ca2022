/** @file A host as people write it: `user@host:port`. */

export interface SshHost {
  /** As written: how messages name it. */
  readonly name: string
  /** What ssh is given: `user@host`, or a name of the user's ssh config. */
  readonly destination: string
  /** Of the ssh server; otherwise ssh's own choice. */
  readonly port?: number | undefined
}

// A name never begins with a dash: ssh would take it for an option.
const HOST =
  /^(?:(?<user>[A-Za-z0-9_][\w.$-]*)@)?(?<host>\[[\da-fA-F:.%]+\]|[A-Za-z0-9_][\w.-]*)(?::(?<port>\d{1,5}))?$/

/** Undefined where the text is no host. */
export function parseHost(text: string): SshHost | undefined {
  const { user, host, port } = HOST.exec(text.trim())?.groups ?? {}
  if (host === undefined || Number(port ?? 22) < 1 || Number(port ?? 22) > 65_535) return undefined
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  return {
    name: text.trim(),
    destination: user === undefined ? bare : `${user}@${bare}`,
    port: port === undefined ? undefined : Number(port),
  }
}

/** Where two entries are the same, they have the same text here. The user does not count: one host is one node. */
export function placeOfHost({ destination, port = 22 }: SshHost): string {
  return `${destination.replace(/^.*@/, '').toLowerCase()}:${port}`
}

/** A list of hosts, or the first thing that is wrong with it. */
export function parseHosts(entries: readonly string[]): { hosts: readonly SshHost[]; problem?: string } {
  const hosts: SshHost[] = []
  for (const entry of entries) {
    const host = parseHost(entry)
    if (!host) return { hosts: [], problem: `"${entry}" is not user@host:port.` }
    if (hosts.some((other) => placeOfHost(other) === placeOfHost(host)))
      return { hosts: [], problem: `${entry} is there twice; a host is one node.` }
    hosts.push(host)
  }
  return entries.length === 0 ? { hosts, problem: 'there is no host.' } : { hosts }
}
