/** @file Which files go to the nodes: `submit.files`, paths and patterns against the working folder, as a shell would expand them. */
import { readdirSync, statSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { UserError } from '../../base/util/index.ts'

export interface TakenFile {
  /** Relative to the working folder where it lies below it, else absolute. */
  readonly path: string
  readonly bytes: number
}

export interface Taken {
  readonly files: readonly TakenFile[]
  /** Worth a line: folders that were passed over, TypeScript taken for Python. */
  readonly notices: readonly string[]
}

/**
 * Expands every word of `files`. A word that ends in .py takes the .ts files of the same pattern too; one that matches nothing is an
 * error, and so are two files of one name, because the folder of a job is flat.
 */
export function takeFiles(words: string, cwd: string): Taken {
  const notices: string[] = []
  const paths = words
    .split(/\s+/)
    .filter((word) => word !== '')
    .flatMap((word) => {
      const typescript = word.endsWith('.py') ? matches(word.replace(/\.py$/, '.ts'), cwd) : []
      const found = [...matches(word, cwd), ...typescript]
      if (found.length === 0) throw nothingThere(word, cwd)
      if (typescript.length > 0) notices.push(`${word}: ${typescript.join(' ')} taken as well`)
      return found
    })
  if (paths.length > MOST_FILES) throw tooMany(paths.length)
  const files = [...new Set(paths)].flatMap((path) => {
    const stats = statSync(within(cwd, path))
    if (stats.size > MOST_BYTES) throw tooLarge(path, stats.size)
    if (stats.isFile()) return [{ path, bytes: stats.size }]
    notices.push(`${path} is a folder and stays here: files go to the nodes one by one, without folders`)
    return []
  })
  refuseSameNames(files)
  return { files, notices }
}

const within = (cwd: string, path: string) => (isAbsolute(path) ? path : join(cwd, path))

/** Paths that a pattern matches, sorted. A name that begins with a dot must be asked for with one. */
function matches(pattern: string, cwd: string): readonly string[] {
  const root = isAbsolute(pattern) ? '/' : ''
  const steps = pattern.split('/').filter((step) => step !== '' && step !== '.')
  const found = steps.reduce<readonly string[]>(
    (folders, step) => folders.flatMap((folder) => children(folder, step, cwd)),
    [root],
  )
  return steps.length === 0 ? [] : [...found].sort()
}

function children(folder: string, step: string, cwd: string): readonly string[] {
  if (step === '..') return [join(folder, step)]
  const wanted = glob(step)
  return namesIn(within(cwd, folder))
    .filter((name) => wanted.test(name) && (!name.startsWith('.') || step.startsWith('.')))
    .map((name) => join(folder, name))
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // not a folder, or not ours to read: it matches nothing
  }
}

/** `*.py` as a regular expression: `*`, `?` and `[...]` as in a shell. */
function glob(step: string): RegExp {
  const source = step.replace(/\[!?[^\]]+\]|[\s\S]/g, (part) => {
    if (part === '*') return '.*'
    if (part === '?') return '.'
    if (part.length > 1) return `[${part.slice(1, -1).replace(/^!/, '^').replaceAll('\\', '\\\\')}]`
    return part.replace(/[.+^${}()|[\]\\]/, '\\$&')
  })
  return new RegExp(`^${source}$`)
}

/** What no job server takes, and no node gets in a reasonable time. */
const MOST_BYTES = 2 ** 30 // 1 GiB

/** As many as a job server takes. */
const MOST_FILES = 10_000

function tooMany(count: number): UserError {
  return new UserError(`submit.files matches ${count} files; a job may have ${MOST_FILES}.`, {
    code: 'SUBMIT_FILES',
    hint: 'Name the files that the job needs, or pack them and unpack them in before_hook.sh.',
  })
}

function tooLarge(path: string, bytes: number): UserError {
  return new UserError(`submit.files: ${path} has ${bytes} bytes; a file for the nodes may have ${MOST_BYTES}.`, {
    code: 'SUBMIT_FILES',
    hint: "Put data on the job's file system and name it by train_data_path, test_data_path or thirdparty_path.",
  })
}

function nothingThere(word: string, cwd: string): UserError {
  const also = word.endsWith('.py') ? ', nor with .ts' : ''
  return new UserError(`submit.files: nothing matches ${word} in ${cwd}${also}.`, {
    code: 'SUBMIT_FILES',
    hint: 'Patterns are relative to the folder in which you run the command: go to the folder of the files, or write their paths.',
  })
}

export function refuseSameNames(files: readonly TakenFile[]): void {
  const seen = new Map<string, string>()
  for (const { path } of files) {
    const name = basename(path)
    const other = seen.get(name)
    if (other !== undefined)
      throw new UserError(`submit.files: ${other} and ${path} have the same name, and the folder of a job is flat.`, {
        code: 'SUBMIT_FILES',
        hint: 'Rename one of them, or leave it out.',
      })
    seen.set(name, path)
  }
}
