/** @file Run folders below the folders that a user names: the folder itself, runs in it, and `runs/` of projects in it. */
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { runPaths } from './run-paths.ts'

/** How far down a folder `runs` is looked for. */
const DEPTH = 3
const PASSED_OVER: ReadonlySet<string> = new Set(['node_modules', 'data', 'dist', 'log', 'logs'])

const isRun = (folder: string) => existsSync(runPaths(folder).meta)

/** Paths of run folders; each once. */
export function findRuns(folders: readonly string[]): readonly string[] {
  return [...new Set(folders.flatMap((folder) => (isRun(folder) ? [folder] : below(folder, DEPTH))))]
}

function below(folder: string, depth: number): string[] {
  const found = subfolders(folder)
  if (basename(folder) === 'runs' || depth === DEPTH) {
    const runs = found.filter(isRun)
    if (runs.length > 0 || basename(folder) === 'runs') return runs
  }
  if (depth === 0) return []
  return found.filter((path) => !PASSED_OVER.has(basename(path))).flatMap((path) => below(path, depth - 1))
}

function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => join(folder, name))
      .sort()
  } catch {
    return [] // gone, or not ours to read
  }
}
