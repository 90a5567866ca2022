/** @file Curves that were read, kept while there is room: a file that has not changed is not read again. */
import { statSync } from 'node:fs'
import { type Curves, openCurves, type ReadFile } from '../../base/runs/index.ts'

const MOST_BYTES = 1 << 30
const NONE: Curves = { rows: 0, names: [], column: () => undefined, damaged: 0, end: 0 }

export class CurveCache {
  readonly #known = new Map<string, { readonly stamp: string; readonly curves: Curves; readonly bytes: number }>()
  readonly #read: ReadFile | undefined
  #bytes = 0

  constructor(read?: ReadFile) {
    this.#read = read
  }

  read(path: string): Curves {
    const stamp = stampOf(path)
    if (stamp === undefined) return NONE
    const known = this.#known.get(path)
    if (known) this.#forget(path)
    const curves = known?.stamp === stamp ? known.curves : attempt(path, this.#read)
    const bytes = curves.rows * curves.names.length * 8
    this.#known.set(path, { stamp, curves, bytes })
    this.#bytes += bytes
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= MOST_BYTES || oldest === path) break
      this.#forget(oldest)
    }
    return curves
  }

  #forget(path: string): void {
    this.#bytes -= this.#known.get(path)!.bytes
    this.#known.delete(path)
  }
}

/** Undefined where there is no such file. */
export function stampOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && `${stats.ino} ${stats.mtimeMs} ${stats.size}`
}

function attempt(path: string, read: ReadFile | undefined): Curves {
  try {
    return openCurves(path, read)
  } catch {
    return { ...NONE, damaged: 1 }
  }
}
