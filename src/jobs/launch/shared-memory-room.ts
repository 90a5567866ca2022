/** @file Whether processes of this host will find shared memory: without it they exchange over sockets, which is slower and would be a riddle. */
import { statfsSync } from 'node:fs'
import { SHARED_MEMORY, sizeText } from '../../base/util/index.ts'

const LEAST_BYTES = 16 * 1024 * 1024

/** What to say where there is little of it; undefined: enough, or the system has none with a size. */
export function sharedMemoryNotice(folder: string = SHARED_MEMORY): string | undefined {
  try {
    const { bavail, bsize, blocks } = statfsSync(folder)
    const [free, all] = [bavail * bsize, blocks * bsize]
    if (blocks === 0 || free >= LEAST_BYTES) return undefined
    const room = free === 0 ? 'full' : `nearly full: ${sizeText(free)} of ${sizeText(all)} are free`
    return `${folder} is ${room}. Processes of this host exchange over sockets instead, which is slower; make room there, or give the container more (--shm-size).`
  } catch {
    return undefined
  }
}
