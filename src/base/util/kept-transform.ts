/** @file JavaScript of TypeScript files, kept by content: the parser takes longer to load than all else that a process needs of a model. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { TransformOptions, TransformResult } from 'jiti'

/** `import.meta.dirname` and its like become the path itself: found again for a copy in another folder, they would lead to the first one's data. */
const WRITES_ITS_PLACE = /\bmeta\b/

/** `transform`, or what it made of the same source before. A folder that cannot be used keeps nothing. */
export function keptTransform(transform: (options: TransformOptions) => string, folder: string) {
  return (options: TransformOptions): TransformResult => {
    const path = join(folder, `${keyOf(options)}.js`)
    const kept = read(path)
    if (kept !== undefined) return { code: kept }
    const code = transform(options)
    // A source that does not parse is code that says so, with the file's name in it.
    if (!code.includes('__JITI_ERROR__')) keep(path, code, folder)
    return { code }
  }
}

/** Every job has a folder of its own, so where a file lies counts only if its code may name the place; the parser's version always does. */
function keyOf({ source, filename, ...how }: TransformOptions): string {
  const { version } = createRequire(import.meta.url)('jiti/package.json') as { readonly version: string }
  const parts = [version, how, source]
  return createHash('sha256')
    .update(JSON.stringify(WRITES_ITS_PLACE.test(source) ? [...parts, filename] : parts))
    .digest('hex')
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** In one move: processes of a job start at the same time. Only its owner may write there, since what is found there is run. */
function keep(path: string, code: string, folder: string): void {
  const fresh = `${path}.${process.pid}.${performance.now()}`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(fresh, code, { mode: 0o600 })
    renameSync(fresh, path)
  } catch {
    // A full or read-only disk: the next process parses again.
  }
}
