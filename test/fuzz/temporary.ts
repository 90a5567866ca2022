/** @file Folders of a target, which are gone with its process. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** In memory where that can be: a case is a file that is written and read. */
const MEMORY = '/dev/shm'
const FOLDER = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'oarfish-fuzz-'))
process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }))
export const temporary = () => mkdtempSync(join(FOLDER, 'work-'))
