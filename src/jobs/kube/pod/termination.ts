/** @file Why a pod ended, where Kubernetes looks for it. */
import { writeFileSync } from 'node:fs'

export const TERMINATION_LOG = '/dev/termination-log'

const MEANINGS: Readonly<Record<number, string>> = {
  1: 'General Error',
  134: 'Program Abort',
  136: 'Error Arithmetic Operation(Floating Point Exception)',
  139: 'Segmentation Fault',
}

/** The line for an exit code, then the last that the program said; undefined after a good end. */
export function terminationMessage(code: number, lastLines: readonly string[]): string | undefined {
  if (code === 0) return undefined
  return [MEANINGS[code] ?? `Exit code ${code}`, ...lastLines].join('\n')
}

const MOST_BYTES = 4096 // kubelets cut off what is longer, at its end

/** Does nothing outside of a pod, where there is no such file. */
export function writeTermination(message: string, path = TERMINATION_LOG): void {
  try {
    writeFileSync(path, Buffer.from(message).subarray(0, MOST_BYTES), { flag: 'r+' })
  } catch {}
}
