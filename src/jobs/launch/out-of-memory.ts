/** @file Whether the kernel ended processes for want of memory: it counts them by control group, and a signal alone does not tell. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sizeText } from '../../base/util/index.ts'

export interface MemoryWatch {
  /** What happened since the watch began, for a process that was killed; undefined: not that. */
  explain(): string | undefined
}

/** Of the group of this process, in which the processes it starts are too, and of the machine. */
export function watchMemory(root = '/sys/fs/cgroup', proc = '/proc'): MemoryWatch {
  const group = ownGroup(root, proc)
  const [before, machineBefore] = [group && kills(group), machineKills(proc)]
  return {
    explain: () => {
      if (group && (kills(group) ?? 0) > (before ?? 0)) {
        const most = limitOf(group)
        return `the kernel ended it because its control group ${group.folder} has no more memory${most === undefined ? '' : `: the limit is ${sizeText(most)}`}`
      }
      if ((machineKills(proc) ?? 0) > (machineBefore ?? 0))
        return 'the kernel ended processes of this machine at that time because it has no more memory'
      return undefined
    },
  }
}

interface Group {
  readonly version: 1 | 2
  readonly folder: string
}

/** In a container the path of the group is often that of the host, and its files are at the root. */
function ownGroup(root: string, proc: string): Group | undefined {
  const lines = read(join(proc, 'self/cgroup'))?.split('\n') ?? []
  const second = lines.find((line) => line.startsWith('0::'))?.slice(3)
  const first = lines.map((line) => line.split(':')).find(([, names = '']) => names.split(',').includes('memory'))?.[2]
  const candidates: readonly Group[] = [
    ...[first, first && '/'].flatMap((path) =>
      path ? [{ version: 1, folder: join(root, 'memory', path) } as const] : [],
    ),
    ...[second, second && '/'].flatMap((path) => (path ? [{ version: 2, folder: join(root, path) } as const] : [])),
  ]
  return candidates.find(({ version, folder }) => existsSync(join(folder, FILES[version].events)))
}

const FILES = {
  1: { events: 'memory.oom_control', limit: 'memory.limit_in_bytes' },
  2: { events: 'memory.events', limit: 'memory.max' },
} as const

const kills = ({ version, folder }: Group) => countIn(read(join(folder, FILES[version].events)))
const machineKills = (proc: string) => countIn(read(join(proc, 'vmstat')))

function countIn(text: string | undefined): number | undefined {
  const found = text && /^oom_kill (\d+)$/m.exec(text)
  return found ? Number(found[1]) : undefined
}

/** Version 1 says "no limit" by a number near 2^63. */
function limitOf({ version, folder }: Group): number | undefined {
  const bytes = Number(read(join(folder, FILES[version].limit))?.trim())
  return bytes > 0 && bytes < 2 ** 60 ? bytes : undefined
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
