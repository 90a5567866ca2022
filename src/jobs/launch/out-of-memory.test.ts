/** @file Kills for want of memory, read from recorded files of both versions of control groups, as hosts and containers show them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { watchMemory } from './out-of-memory.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-oom-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function put(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** memory.events of Linux 6.1. */
const events = (kills: number) => `low 0\nhigh 0\nmax 1204\noom ${kills}\noom_kill ${kills}\noom_group_kill 0\n`
/** memory.oom_control of Linux 5.10. */
const control = (kills: number) => `oom_kill_disable 0\nunder_oom 0\noom_kill ${kills}\n`
const vmstat = (kills: number) => `nr_free_pages 12\npgmajfault 5\noom_kill ${kills}\nnuma_pte_updates 0\n`

interface Recorded {
  readonly own: string
  readonly events: string
  readonly text: (kills: number) => string
  readonly limit: readonly [string, string]
  readonly says: string
}

test.each<[string, Recorded]>([
  [
    'version 2 on a host',
    {
      own: '0::/user.slice/job.scope\n',
      events: 'cgroup/user.slice/job.scope/memory.events',
      text: events,
      limit: ['cgroup/user.slice/job.scope/memory.max', '314572800\n'],
      says: 'job.scope has no more memory: the limit is 314.6 MB',
    },
  ],
  [
    'version 2 in a container that shows the path of its host, without a limit of its own',
    {
      own: '0::/../../kubepods.slice/pod1\n',
      events: 'cgroup/memory.events',
      text: events,
      limit: ['cgroup/memory.max', 'max\n'],
      says: 'cgroup/ has no more memory',
    },
  ],
  [
    'version 1 beside an empty version 2',
    {
      own: '12:pids:/job\n9:memory:/job\n0::/job\n',
      events: 'cgroup/memory/job/memory.oom_control',
      text: control,
      limit: ['cgroup/memory/job/memory.limit_in_bytes', '104857600\n'],
      says: 'memory/job has no more memory: the limit is 104.9 MB',
    },
  ],
  [
    'version 1 without a limit',
    {
      own: '9:cpu,memory:/\n',
      events: 'cgroup/memory/memory.oom_control',
      text: control,
      limit: ['cgroup/memory/memory.limit_in_bytes', '9223372036854771712\n'],
      says: 'has no more memory',
    },
  ],
])('%s', (_, { own, events: file, text, limit, says }) => {
  put('proc/self/cgroup', own)
  put('proc/vmstat', vmstat(7))
  put(file, text(2))
  put(...limit)
  const watch = watchMemory(join(folder, 'cgroup'), join(folder, 'proc'))
  expect(watch.explain()).toBeUndefined() // the two of earlier jobs do not count
  put(file, text(3))
  const told = watch.explain()!
  expect(told).toContain('the kernel ended it because its control group')
  expect(told.endsWith(says), told).toBe(true)
})

test('a machine that has no more memory is told apart, and nothing at all is said where nothing was ended', () => {
  put('proc/self/cgroup', '0::/\n')
  put('proc/vmstat', vmstat(7))
  const watch = watchMemory(join(folder, 'cgroup'), join(folder, 'proc'))
  expect(watch.explain()).toBeUndefined()
  put('proc/vmstat', vmstat(8))
  expect(watch.explain()).toBe('the kernel ended processes of this machine at that time because it has no more memory')
})
