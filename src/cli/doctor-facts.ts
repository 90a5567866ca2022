/** @file What `oarfish doctor` looks at on this machine: facts alone. What they mean is decided in doctor-checks.ts. */
import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { arch, availableParallelism, cpus, freemem, homedir, platform, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CliIo } from './io.ts'

export interface HostFacts {
  readonly node: string
  readonly system: string
  readonly cpu: {
    readonly model: string
    readonly cores: number
    readonly flags: readonly string[]
    readonly simd: boolean
  }
  readonly memory: { readonly total: number; readonly free: number; readonly limit: number | undefined }
  /** Undefined where Node does not tell. */
  readonly openFiles: number | undefined
  readonly processes: number | undefined
  /** Bytes; undefined where there is none. */
  readonly shm: { readonly total: number; readonly free: number } | undefined
  readonly temporary: { readonly path: string; readonly free: number }
  /** Whether compiled models can be kept in ~/.cache/oarfish. */
  readonly cache: boolean
  /** Its version, or what it throws when it computes 1 + 2. */
  readonly onnxruntime: { readonly version: string; readonly failure: string | undefined }
  readonly koffi: string | undefined
  readonly devices: readonly string[]
  /** First lines of their versions; undefined: not there. */
  readonly programs: Readonly<Record<(typeof PROGRAMS)[number][0], string | undefined>>
  readonly kubeconfig: boolean
  /** Why no port of the loopback can be had, if so. */
  readonly port: string | undefined
  /** Seconds between this clock and that of the job server or of time servers; undefined: nobody to ask. */
  readonly clock: {
    readonly synchronized: boolean | undefined
    readonly skew: number | undefined
    readonly year: number
  }
}

const PROGRAMS = [
  ['mpirun', ['--version']],
  ['ssh', ['-V']],
  ['tar', ['--version']],
  ['kubectl', ['version', '--client']],
] as const

export async function hostFacts(io: CliIo): Promise<HostFacts> {
  const limits = userLimits()
  const programs = await Promise.all(PROGRAMS.map(async ([name, args]) => [name, await firstLine(name, args)] as const))
  return {
    node: process.versions.node,
    system: `${platform()} ${release()} ${arch()}`,
    cpu: cpuFacts(),
    memory: { total: totalmem(), free: freemem(), limit: memoryLimit() },
    openFiles: limits('open_files'),
    processes: limits('max_user_processes'),
    shm: spaceOf('/dev/shm'),
    temporary: { path: tmpdir(), free: spaceOf(tmpdir())?.free ?? 0 },
    cache: canKeep(join(homedir(), '.cache', 'oarfish')),
    onnxruntime: await onnxruntime(),
    koffi: await import('koffi').then(
      () => undefined,
      (error: Error) => error.message,
    ),
    devices: existsSync('/dev')
      ? readdirSync('/dev').filter((name) => /^nvidia\d+$|^kfd$|^davinci\d+$/.test(name))
      : [],
    programs: Object.fromEntries(programs) as HostFacts['programs'],
    kubeconfig: existsSync(io.env['KUBECONFIG']?.split(':')[0] ?? join(homedir(), '.kube', 'config')),
    port: await portFailure(),
    clock: {
      synchronized: await synchronized(),
      skew: await skewOf(io.env['PADDLECLOUD_SERVER']),
      year: new Date().getFullYear(),
    },
  }
}

function cpuFacts(): HostFacts['cpu'] {
  const [, flags = ''] = /^(?:flags|Features)\s*:(.*)$/m.exec(readOr('/proc/cpuinfo')) ?? []
  // i8x16.splat of a constant: valid where WebAssembly has SIMD.
  const simd = Uint8Array.from([
    ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11],
  ])
  return {
    model: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
    flags: flags.trim().split(/\s+/),
    simd: WebAssembly.validate(simd),
  }
}

/** Of the container, where one sets it. */
function memoryLimit(): number | undefined {
  const limit = Number(readOr('/sys/fs/cgroup/memory.max') || readOr('/sys/fs/cgroup/memory/memory.limit_in_bytes'))
  return limit > 0 && limit < 2 ** 50 ? limit : undefined
}

function userLimits(): (name: string) => number | undefined {
  Object.assign(process.report, { excludeNetwork: true }) // its interfaces are asked for names otherwise
  const { userLimits: limits } = process.report.getReport() as {
    userLimits?: Record<string, { soft: number | string }>
  }
  return (name) => {
    const soft = limits?.[name]?.soft
    return soft === undefined ? undefined : soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  }
}

function spaceOf(path: string): { total: number; free: number } | undefined {
  try {
    const { bsize, blocks, bavail } = statfsSync(path)
    return { total: bsize * blocks, free: bsize * bavail }
  } catch {
    return undefined
  }
}

function canKeep(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

async function onnxruntime(): Promise<HostFacts['onnxruntime']> {
  try {
    const { ortEngine } = await import('../graph/engine/index.ts')
    const { add, Builder } = await import('../graph/program/index.ts')
    const builder = new Builder()
    const x = builder.feed('x', [1], 'float32')
    const session = await ortEngine().compile(builder.build({ y: add(x, 2) }))
    const { y } = await session.run({ x: { dims: [1], data: Float32Array.of(1) } })
    await session.close()
    const failure = y!.data[0] === 3 ? undefined : `1 + 2 gave ${y!.data[0]}`
    return { version: await versionOf('onnxruntime-node'), failure }
  } catch (error) {
    return { version: 'unknown', failure: (error as Error).message }
  }
}

async function versionOf(name: string): Promise<string> {
  const { createRequire } = await import('node:module')
  const own = createRequire(import.meta.url)
  const { version } = own(join(own.resolve(name).replace(/(node_modules[\\/][^\\/]+).*/, '$1'), 'package.json'))
  return version
}

async function firstLine(name: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await promisify(execFile)(name, args, { timeout: 5000 })
    return (stdout || stderr).trim().split('\n')[0] ?? ''
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? undefined
      : String((error as Error).message).split('\n')[0]
  }
}

async function portFailure(): Promise<string | undefined> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', (error) => resolve(error.message))
    server.listen(0, '127.0.0.1', () => server.close(() => resolve(undefined)))
  })
}

async function synchronized(): Promise<boolean | undefined> {
  const line = await firstLine('timedatectl', ['show', '--property=NTPSynchronized', '--value'])
  return line === 'yes' ? true : line === 'no' ? false : undefined
}

/** By the date of its answers, which is exact to a second. */
async function skewOf(server: string | undefined): Promise<number | undefined> {
  if (server === undefined) return undefined
  try {
    const { headers } = await fetch(server, { method: 'HEAD', signal: AbortSignal.timeout(3000) })
    const theirs = Date.parse(headers.get('date') ?? '')
    return Number.isNaN(theirs) ? undefined : Math.round((Date.now() - theirs) / 1000)
  } catch {
    return undefined // `oarfish jobs` says why
  }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
