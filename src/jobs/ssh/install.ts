/** @file This package with what it needs, shipped to a host that may have no way to the internet. */
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { makeOwnFolder, PACKAGE_PARTS, packageFile, quoted, shellWord, UserError } from '../../base/util/index.ts'
import type { Channel } from './channel.ts'
import { upload } from './upload.ts'

const ROOT = packageFile('.')

/** To `~/.oarfish/VERSION` there, called by `~/.oarfish/bin/oarfish`. */
export async function installPackage(channel: Channel, version: string): Promise<void> {
  const folder = `.oarfish/${version}`
  const { code, out, err } = await channel.run(
    `cd && uname -sm && rm -rf ${quoted(folder)} && mkdir -p ${quoted(folder)} .oarfish/bin && pwd`,
  )
  if (code !== 0) throw failed(channel, err)
  const [machine, home] = out.trim().split('\n').slice(-2) as [string, string]
  refuseOtherMachine(channel, machine)
  const stage = stagePackage()
  try {
    await upload({ channel, from: stage, paths: readdirSync(stage), to: `${home}/${folder}`, exclude: OTHER_PLATFORMS })
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
  const scripts = ['oarfish', 'fleetrun'].map(
    (name) =>
      `printf '%s\\n' '#!/bin/sh' ${quoted(`exec node "$HOME/${folder}/node_modules/oarfish/bin/${name}.js" "$@"`)} > .oarfish/bin/${name} && chmod +x .oarfish/bin/${name}`,
  )
  const made = await channel.run(['cd', ...scripts].join(' && '))
  if (made.code !== 0) throw failed(channel, made.err)
}

/** Native libraries of other systems are most of the size and of no use there. */
const OTHER_PLATFORMS = ['darwin', 'win32', 'linux', 'freebsd', 'openbsd']
  .flatMap((platform) => ['x64', 'arm64', 'ia32', 'arm', 'riscv64', 'loong64'].map((arch) => ({ platform, arch })))
  .filter(({ platform, arch }) => platform !== process.platform || arch !== process.arch)
  .flatMap(({ platform, arch }) => [
    `*/onnxruntime-node/bin/*/${platform}/${arch}`,
    `*/koffi/build/koffi/${platform}_${arch}`,
  ])

/** A folder of links, laid out so that every `import` finds what it finds here. */
function stagePackage(): string {
  const stage = makeOwnFolder('package')
  const own = join(stage, 'node_modules', 'oarfish')
  mkdirSync(own, { recursive: true })
  for (const name of PACKAGE_PARTS) if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(own, name))
  for (const found of dependencies(ROOT)) {
    // Beside this package where npm put it beside, otherwise inside.
    const inside = found.startsWith(join(ROOT, 'node_modules') + sep)
    const parent = join(inside ? own : stage, 'node_modules')
    const to = join(parent, found.slice(found.lastIndexOf(`node_modules${sep}`) + `node_modules${sep}`.length))
    mkdirSync(dirname(to), { recursive: true })
    if (!existsSync(to)) symlinkSync(realpathSync(found), to)
  }
  return stage
}

/** Folders of all packages that this one needs, found as Node finds them; those inside another come with it. */
function dependencies(root: string): readonly string[] {
  const found = new Set<string>()
  const visit = (folder: string) => {
    const { dependencies = {}, optionalDependencies = {} } = manifest(folder)
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = resolveFrom(folder, name)
      if (place === undefined || found.has(place)) continue
      found.add(place)
      visit(place)
    }
  }
  visit(root)
  return [...found].filter((place) => ![...found].some((other) => place.startsWith(join(other, 'node_modules') + sep)))
}

function resolveFrom(folder: string, name: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const place = join(at, 'node_modules', name)
    if (basename(at) !== 'node_modules' && existsSync(join(place, 'package.json'))) return place
    if (dirname(at) === at) return undefined
  }
}

function manifest(folder: string): { dependencies?: object; optionalDependencies?: object } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

const SYSTEMS: Readonly<Record<string, string>> = { Linux: 'linux', Darwin: 'darwin' }
const MACHINES: Readonly<Record<string, string>> = { x86_64: 'x64', amd64: 'x64', aarch64: 'arm64', arm64: 'arm64' }

function refuseOtherMachine({ host }: Channel, uname: string): void {
  const [system = '', machine = ''] = uname.split(' ')
  if (SYSTEMS[system] === process.platform && MACHINES[machine] === process.arch) return
  throw new UserError(`${host.name} is ${uname}, this machine ${process.platform} ${process.arch}.`, {
    code: 'SSH_INSTALL',
    hint: `The native parts differ. Here: npm pack ${shellWord(ROOT)}; there, with the file it writes: npm install --global --ignore-scripts FILE`,
  })
}

const failed = ({ host }: Channel, said: string) =>
  new UserError(`${host.name}: oarfish could not be installed: ${said.trim()}`, { code: 'SSH_INSTALL' })
