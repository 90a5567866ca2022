/** @file This package's own files by their paths: threads, commands and what is shipped beside them. Nobody else counts folders up. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Looked for, since sources lie deeper than what is built from them. */
const ROOT = folderWith('package.json', dirname(fileURLToPath(import.meta.url)))

/** A file or folder by its path in the package: `bin/oarfish.js`; `.` is the package. */
export const packageFile = (path: string): string => join(ROOT, path)

/** What an installation runs with: what nodes and hosts get. A clone holds more. */
export const PACKAGE_PARTS = ['bin', 'dist', 'models', 'python', 'package.json'] as const

/**
 * A module that is started or loaded by its path, named from src/: `ps/shard-thread`. What runs is always the built one. scripts/bundle.mjs
 * finds these calls in the sources, so names are written out, and gives each of them a file of its own.
 */
export const builtFile = (name: string): URL => pathToFileURL(packageFile(`dist/${name}.js`))

function folderWith(name: string, folder: string): string {
  return existsSync(join(folder, name)) || dirname(folder) === folder ? folder : folderWith(name, dirname(folder))
}
