/** @file What lies in the repository besides what is committed: tests and benchmarks write to temporary folders, or to .cache/. */
import { spawnSync } from 'node:child_process'
import { root } from './setup.mjs'

// Python keeps compiled stand-ins beside them, whoever runs a reader.
const ALLOWED = ['.cache', 'dist', 'node_modules', 'coverage', '*/__pycache__/*'].map((name) => `:!${name}`)

/** Files that git does not know, ignored ones too, and those that were changed; none where there is no git. */
export function uncommitted() {
  return new Set([...git('ls-files', '--others'), ...git('diff', '--name-only', 'HEAD')])
}

function git(...words) {
  const { stdout } = spawnSync('git', [...words, '-z', '--', '.', ...ALLOWED], { cwd: root, encoding: 'utf8' })
  return (stdout ?? '').split('\0').filter(Boolean)
}
