/** @file The configuration of a cluster over ssh: conf.py of PaddlePaddle's cluster_train, or the same keys as yaml. */
import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml'
import { parseYaml, readYamlFile, YamlRefusal } from '../../base/config/index.ts'
import { formatWhere, suggest, UserError, type Where } from '../../base/util/index.ts'
import { parseHost, placeOfHost, type SshHost } from './host.ts'
import { type Assignments, isList, type Literal, literalText, parsePythonConf } from './python-conf.ts'

export interface ClusterConf {
  readonly hosts: readonly SshHost[]
  /** Gets a folder for each job. */
  readonly rootDir: string
  readonly nic: string
  readonly port: number
  readonly portsNum: number
  readonly portsNumForSparse: number
  /** Before that of the hosts; empty: theirs alone. */
  readonly ldLibraryPath: string
}

export function loadClusterConf(path: string): ClusterConf {
  let text: string
  try {
    text = readYamlFile(path)
  } catch (cause) {
    throw new UserError(`${path} cannot be read: ${(cause as Error).message}.`, {
      code: 'SSH_CONF',
      hint: 'Name the file that lists the hosts: oarfish cluster --conf conf.py ...',
      cause,
    })
  }
  return parseClusterConf(path, text)
}

/** Throws with every problem of the file. */
export function parseClusterConf(file: string, text: string): ClusterConf {
  const broken = new Set<string>()
  const unread: Problem[] = []
  const refuse = ({ message, where = { file }, hint }: UserError, name?: string) => {
    if (name !== undefined) broken.add(name)
    unread.push({ message, where, hint })
  }
  const written = /\.ya?ml$/.test(file) ? parseYamlConf(file, text) : parsePythonConf(file, text, refuse)
  const problems: Problem[] = [...unread, ...unknownKeys(written)]
  const take = <T>(name: KeyName, read: Read<T>): T | undefined => {
    if (broken.has(name)) return undefined
    const found = written.get(name)
    const value = read(found?.literal ?? { value: DEFAULTS[name], where: { file } }, name)
    if (!isProblems(value)) return value
    problems.push(...value)
    return undefined
  }
  const conf = {
    hosts: take('HOSTS', readHosts),
    rootDir: take('ROOT_DIR', readFolder),
    nic: take('PADDLE_NIC', readNic),
    port: take('PADDLE_PORT', whole(1, 65_535)),
    portsNum: take('PADDLE_PORTS_NUM', whole(1, 64)),
    portsNumForSparse: take('PADDLE_PORTS_NUM_FOR_SPARSE', whole(0, 64)),
    ldLibraryPath: take('LD_LIBRARY_PATH', readText),
  }
  if (problems.length > 0) throw confError(problems)
  const last = conf.port! + conf.portsNum! + conf.portsNumForSparse! - 1
  if (last > 65_535)
    throw confError([
      { message: `PADDLE_PORT: the last port would be ${last}.`, where: written.get('PADDLE_PORT')!.where },
    ])
  return conf as ClusterConf
}

/** Those of the original. */
const DEFAULTS = {
  HOSTS: null,
  ROOT_DIR: '/home/paddle',
  PADDLE_NIC: 'eth0',
  PADDLE_PORT: 7164,
  PADDLE_PORTS_NUM: 2,
  PADDLE_PORTS_NUM_FOR_SPARSE: 2,
  LD_LIBRARY_PATH: '',
} as const
type KeyName = keyof typeof DEFAULTS

type Read<T> = (literal: Literal, name: KeyName) => T | Problem[]

interface Problem {
  readonly message: string
  readonly where: Where
  readonly hint?: string | undefined
}

const isProblems = (value: unknown): value is Problem[] =>
  Array.isArray(value) && typeof (value[0] as Problem | undefined)?.message === 'string'

function unknownKeys(written: Assignments): Problem[] {
  const known = Object.keys(DEFAULTS)
  return [...written]
    .filter(([name]) => !known.includes(name))
    .map(([name, { where }]) => {
      const near = suggest(name, known)
      return {
        message: `${name}: unknown key${near ? ` - did you mean ${near}?` : `; known are ${known.join(', ')}.`}`,
        where,
      }
    })
}

function readHosts(literal: Literal): readonly SshHost[] | Problem[] {
  if (!isList(literal) || (literal.value as readonly Literal[]).length === 0)
    return [
      {
        message: 'HOSTS: expected a list with at least one host, such as ["root@192.168.100.17"].',
        where: literal.where,
      },
    ]
  const seen = new Map<string, Literal>()
  const problems: Problem[] = []
  const hosts = (literal.value as readonly Literal[]).flatMap((entry) => {
    const host = typeof entry.value === 'string' ? parseHost(entry.value) : undefined
    if (!host) {
      problems.push({ message: `HOSTS: ${literalText(entry)} is not user@host:port.`, where: entry.where })
      return []
    }
    const twice = seen.get(placeOfHost(host))
    if (twice)
      problems.push({
        message: `HOSTS: ${literalText(entry)} is there twice, first as ${literalText(twice)} in line ${twice.where.line}; a host is one node.`,
        where: entry.where,
      })
    seen.set(placeOfHost(host), entry)
    return [host]
  })
  return problems.length > 0 ? problems : hosts
}

function readFolder({ value, where }: Literal): string | Problem[] {
  if (typeof value === 'string' && /^\/[^\0\n]*$/.test(value)) return value === '/' ? value : value.replace(/\/+$/, '')
  return [{ message: 'ROOT_DIR: expected the absolute path of a folder on the hosts, such as "/home/paddle".', where }]
}

function readNic({ value, where }: Literal): string | Problem[] {
  if (typeof value === 'string' && /^[\w.:@-]+$/.test(value)) return value
  return [{ message: 'PADDLE_NIC: expected the name of a network interface, such as "eth0".', where }]
}

function readText(literal: Literal, name: KeyName): string | Problem[] {
  if (typeof literal.value === 'string') return literal.value
  return [{ message: `${name}: expected a text, found ${literalText(literal)}.`, where: literal.where }]
}

const whole =
  (least: number, most: number): Read<number> =>
  (literal, name) => {
    const { value, where } = literal
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
    return [
      { message: `${name}: expected a whole number from ${least} to ${most}, found ${literalText(literal)}.`, where },
    ]
  }

/** The first has its place as the error's own, the others in the text. */
function confError([first, ...others]: readonly Problem[]): UserError {
  const rest = others.map(({ message, where }) => `\n${formatWhere(where)} ${message}`)
  const hint = [first!, ...others].find((each) => each.hint)?.hint
  return new UserError(`${first!.message}${rest.join('')}`, { code: 'SSH_CONF', where: first!.where, hint })
}

function parseYamlConf(file: string, text: string): Assignments {
  const { document, lines } = parsedYaml(file, text)
  const at = (offset: number): Where => {
    const { line, col } = lines.linePos(offset)
    return { file, line, column: col }
  }
  const whereOf = (node: Node) => at(node.range?.[0] ?? 0)
  const [broken] = document.errors
  if (broken) throw problem(broken.message, at(broken.pos[0]))

  const literal = (node: unknown, parent: Where): Literal => {
    if (isAlias(node)) return literal(node.resolve(document), whereOf(node))
    if (isSeq(node)) return { value: node.items.map((item) => literal(item, whereOf(node))), where: whereOf(node) }
    if (isScalar(node)) return { value: node.value as Literal['value'], where: whereOf(node) }
    if (node === null || node === undefined) return { value: null, where: parent }
    throw problem('expected a text, a number or a list.', parent)
  }
  if (!isMap(document.contents)) throw problem('expected keys and values.', at(0), 'HOSTS: [root@192.168.100.17]')
  return new Map(
    document.contents.items.map(({ key, value }) => {
      const where = whereOf(key as Node)
      return [String(isScalar(key) ? key.value : key), { literal: literal(value, where), where }]
    }),
  )
}

function parsedYaml(file: string, text: string) {
  try {
    return parseYaml(text)
  } catch (error) {
    if (!(error instanceof YamlRefusal)) throw error
    const before = text.slice(0, error.at).split('\n')
    throw problem(`${error.message}.`, { file, line: before.length, column: before.at(-1)!.length + 1 })
  }
}

const problem = (message: string, where: Where, hint?: string) =>
  new UserError(message, { code: 'SSH_CONF', where, hint })
