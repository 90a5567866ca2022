/** @file Whether processes of this host will find shared memory: without it they exchange over sockets, which is slower and would be a riddle. */
import { statfsSync } from 'node:fs'
import { removeLeftovers, SHARED_MEMORY, sizeText, UserError } from '../../base/util/index.ts'
import type { LaunchOptions } from './launch.ts'

const LEAST_BYTES = 16 * 1024 * 1024
/** Of what two processes share, nothing is smaller. */
const FULL_BYTES = 1024 * 1024

/** Throws where it is full, unless OARFISH_FULL_SHM=sockets says that slower will do; warns where it soon is. What killed jobs left there goes first. */
export function checkSharedMemory({ env, emit }: Pick<LaunchOptions, 'env' | 'emit'>, folder = SHARED_MEMORY): void {
  removeLeftovers()
  const room = roomIn(folder)
  if (!room || room.free >= LEAST_BYTES) return
  const [free, all] = [room.free, room.all].map(sizeText)
  const isFull = room.free < FULL_BYTES
  const message = `${folder} is ${isFull ? 'full' : 'nearly full'}: ${free} of ${all} are free.`
  if (isFull && env['OARFISH_FULL_SHM'] !== 'sockets')
    throw new UserError(`${message} Processes of this host exchange through it.`, {
      code: 'SYSTEM_LIMIT',
      hint: `Make room there (ls -l ${folder}), or give the container more (--shm-size). To go on over sockets, which is slower: export OARFISH_FULL_SHM=sockets`,
    })
  const instead = 'Processes of this host exchange over sockets instead where it has no room, which is slower'
  emit({
    kind: 'warning',
    message: `${message} ${instead}; make room there, or give the container more (--shm-size).`,
  })
}

/** Undefined where the system has none with a size. */
function roomIn(folder: string): { readonly free: number; readonly all: number } | undefined {
  try {
    const { bavail, bsize, blocks } = statfsSync(folder)
    return blocks === 0 ? undefined : { free: bavail * bsize, all: blocks * bsize }
  } catch {
    return undefined
  }
}
