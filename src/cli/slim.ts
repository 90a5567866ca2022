/** @file `oarfish slim`: takes out of this installation what other platforms need. Knows where two packages keep their binaries. */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { Command } from 'commander'
import type { CliIo } from './io.ts'

interface SlimFlags {
  readonly dryRun?: boolean
  readonly json?: boolean
}

interface Removed {
  readonly folder: string
  readonly bytes: number
}

export function slimCommand(io: CliIo): Command {
  return new Command('slim')
    .description(
      'Remove binaries for other platforms from this installation; npm brings them back (docs/reference/compatibility.md).',
    )
    .option('--dry-run', 'only say what would be removed')
    .option('--json', 'print one JSON object')
    .action((flags: SlimFlags) => slim(flags, io))
}

function slim({ dryRun = false, json = false }: SlimFlags, io: CliIo): void {
  const found = otherPlatforms().map((folder): Removed => ({ folder, bytes: bytesOf(folder) }))
  if (!dryRun) for (const { folder } of found) rmSync(folder, { recursive: true, force: true })
  const bytes = found.reduce((sum, each) => sum + each.bytes, 0)
  if (json) io.out.write(`${JSON.stringify({ kind: 'slim', dryRun, bytes, folders: found })}\n`)
  else io.out.write(`${report(found)}${dryRun ? 'would free' : 'freed'} ${megabytes(bytes)}\n`)
}

/** Folders of native libraries that `process.platform` and `process.arch` do not load. */
function otherPlatforms(): readonly string[] {
  const { platform, arch } = process
  const runtime = packageFolder('onnxruntime-node')
  const systems = subfolders(join(runtime, 'bin')).flatMap(subfolders)
  const runtimes = systems.flatMap((system) => {
    const machines = subfolders(system)
    return basename(system) === platform ? machines.filter((machine) => basename(machine) !== arch) : machines
  })
  // koffi finds out by itself whether a Linux has musl.
  const own = [`${platform}_${arch}`, ...(platform === 'linux' ? [`musl_${arch}`] : [])]
  const koffi = subfolders(join(packageFolder('koffi'), 'build', 'koffi'))
  return [...runtimes, ...koffi.filter((folder) => !own.includes(basename(folder)))]
}

function packageFolder(name: string): string {
  return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
}

function subfolders(folder: string): readonly string[] {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return entries.map(({ name }) => join(folder, name)).sort()
}

function bytesOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return entries.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

function report(found: readonly Removed[]): string {
  return found.map(({ folder, bytes }) => `${megabytes(bytes).padStart(10)}  ${folder}\n`).join('')
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
