/** @file Another commit of this repository, built beside it: a git worktree in .cache/, kept for the next time. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { at } from './tools.ts'

export interface BuiltCommit {
  readonly commit: string
  readonly folder: string
}

export function builtCommit(ref: string): BuiltCommit {
  const commit = git('rev-parse', '--short', '--verify', `${ref}^{commit}`)
  const folder = at('.cache', 'commits', commit)
  if (!existsSync(folder)) {
    mkdirSync(dirname(folder), { recursive: true })
    // By force: one whose folder was removed by hand is listed still.
    git('worktree', 'add', '--force', '--detach', folder, commit)
  }
  const modules = join(folder, 'node_modules')
  const lockOf = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (!existsSync(modules) && lockOf(folder) === lockOf(at('.'))) symlinkSync(at('node_modules'), modules)
  console.log(`> build ${commit}`)
  // Its own script, which also installs what it needs when nothing is linked.
  execFileSync(process.execPath, [join(folder, 'scripts', 'build.mjs')], { cwd: folder, stdio: 'inherit' })
  return { commit, folder }
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { cwd: at('.'), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}
