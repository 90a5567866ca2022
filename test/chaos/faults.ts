/** @file The faults of a run, one function each. Resolves to whether it struck anybody. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ChaosJob, end, type Place } from './job.ts'
import type { Fault, FaultKind } from './plan.ts'
import type { Timeline } from './timeline.ts'

export interface Scene {
  readonly job: ChaosJob
  readonly place: Place
  readonly timeline: Timeline
}

type Strike = (fault: Fault, scene: Scene) => Promise<boolean>

const kill: Strike = async ({ victims }, scene) => signalled(victims, scene, 'SIGKILL').length > 0

const stopFor: Strike = async ({ victims, forMs }, scene) => {
  const stopped = signalled(victims, scene, 'SIGSTOP')
  await sleep(forMs)
  for (const pid of stopped) end(pid, 'SIGCONT')
  return stopped.length > 0
}

const unplugFor: Strike = async ({ victims, forMs }, { place }) => {
  const host = place.hosts[Number(victims[0]!.split(' ')[1])]!
  host.unplug()
  await sleep(forMs)
  host.replug()
  return true
}

const fillFor: Strike = async ({ forMs }, { place }) => {
  const ballast = join(place.own, 'disk', 'ballast')
  const file = openSync(ballast, 'w')
  try {
    for (const block = Buffer.alloc(64 * 1024); ; ) writeSync(file, block)
  } catch {
    // That was all the room.
  } finally {
    closeSync(file)
  }
  await sleep(4 * forMs)
  rmSync(ballast)
  return true
}

export const STRIKES: Readonly<Record<FaultKind, Strike>> = {
  kill,
  kill_several: kill,
  kill_launcher: kill,
  interrupt: async ({ victims }, scene) => signalled(victims, scene, 'SIGINT').length > 0,
  pause: stopFor,
  freeze: stopFor,
  partition: unplugFor,
  outage: unplugFor,
  full_disk: fillFor,
  slow_disk: kill,
  leave: async ({ victims: [name = ''] }, scene) => {
    const [role, number] = name.split(' ')
    if (role === 'host') return scene.job.leave(Number(number))
    return signalled([name], scene, 'SIGTERM').length > 0
  },
  join: async (_, { job }) => job.join(),
}

/** Process ids of those that the signal reached. */
function signalled(victims: readonly string[], { job, timeline }: Scene, signal: NodeJS.Signals): readonly number[] {
  const pids = victims.map((name) => (name === 'launcher' ? job.launchers.at(-1) : timeline.running.get(name)))
  return pids.filter((pid) => pid !== undefined && end(pid, signal)) as readonly number[]
}

const SMALL_DISK = '6m'

/** A file system of its own, of a few megabytes; needs root. */
export function mountSmallDisk(own: string): string {
  const disk = join(own, 'disk')
  mkdirSync(disk, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK}`, 'tmpfs', disk])
  return join(disk, 'saved')
}

export function unmountSmallDisk(own: string): void {
  execFileSync('umount', ['-l', join(own, 'disk')])
}
