/** @file Pages that a script writes: put down when they differ, or only compared. */
import { readFileSync, writeFileSync } from 'node:fs'

/** True if the file already says so; else it is written, unless this only checks. */
export function put(file, text, check) {
  const same = readIfThere(file) === text
  if (!same && !check) writeFileSync(file, text)
  return same
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
