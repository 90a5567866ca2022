/** @file Which files ran beside stress-ng, at which commit, and what became of them: `.cache/stress.json`. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { at, root } from './setup.mjs'

const STATE = at('.cache', 'stress.json')

const headCommit = () => execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()

function read() {
  try {
    return JSON.parse(readFileSync(STATE, 'utf8'))
  } catch {
    return {} // nothing was run yet
  }
}

function write(runs) {
  mkdirSync(at('.cache'), { recursive: true })
  writeFileSync(`${STATE}.new`, JSON.stringify(runs))
  renameSync(`${STATE}.new`, STATE)
}

/** Runs of every file. One that failed at another commit begins anew: it is expected to be mended. */
export function knownRuns() {
  const isMended = (runs) => runs.some(({ failed, commit }) => failed && commit !== headCommit())
  return Object.fromEntries(Object.entries(read()).filter(([, runs]) => !isMended(runs)))
}

export function addRun(file, run) {
  const known = knownRuns()
  write({ ...known, [file]: [...(known[file] ?? []), { ...run, commit: headCommit() }] })
}

export const forgetRuns = () => write({})
