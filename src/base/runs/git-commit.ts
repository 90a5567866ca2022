/** @file The commit that a folder is at, read from git's files: no git is started for it. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** Undefined outside a repository, and before its first commit. */
export function readGitCommit(folder: string): string | undefined {
  try {
    const git = gitFolder(folder)
    if (git === undefined) return undefined
    const head = text(join(git, 'HEAD'))
    const ref = /^ref: (\S+)$/.exec(head)?.[1]
    if (ref === undefined) return isCommit(head) ? head : undefined
    const common = existsSync(join(git, 'commondir')) ? resolve(git, text(join(git, 'commondir'))) : git
    const loose = [join(git, ref), join(common, ref)].find((path) => existsSync(path))
    const commit = loose === undefined ? packedRef(common, ref) : text(loose)
    return commit !== undefined && isCommit(commit) ? commit : undefined
  } catch {
    return undefined // damaged, or not ours to read
  }
}

const text = (path: string) => readFileSync(path, 'utf8').trim()
const isCommit = (value: string) => /^[0-9a-f]{40,64}$/.test(value)

function gitFolder(folder: string): string | undefined {
  const path = join(folder, '.git')
  if (!existsSync(path)) return dirname(folder) === folder ? undefined : gitFolder(dirname(folder))
  // Of a worktree it is a file that says where the folder is.
  return statSync(path).isDirectory() ? path : resolve(folder, text(path).replace(/^gitdir: /, ''))
}

function packedRef(git: string, ref: string): string | undefined {
  const line = text(join(git, 'packed-refs'))
    .split('\n')
    .find((one) => one.endsWith(` ${ref}`))
  return line?.split(' ')[0]
}
