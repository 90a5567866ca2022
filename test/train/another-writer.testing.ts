/** @file A process that lives, and a lock beside a folder that says it is its own. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { LOCK_FILES } from '../../src/base/fs/index.ts'
import { processPlace, processStart } from '../../src/base/util/index.ts'

export interface AnotherWriter {
  readonly pid: number
  readonly fence: number
  /** Killed: its lock stays. */
  end(): Promise<void>
}

export async function anotherWriter(folder: string): Promise<AnotherWriter> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  await new Promise((resolve) => child.once('spawn', resolve))
  const pid = child.pid!
  const fence = Date.now() + 1000
  const path = join(dirname(folder), `.${basename(folder)}${LOCK_FILES.model}`)
  const owner = { pid, start: processStart(pid), host: 'this', place: processPlace(), since: 'today', fence }
  writeFileSync(path, JSON.stringify(owner))
  return {
    ...{ pid, fence },
    end: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },
  }
}
