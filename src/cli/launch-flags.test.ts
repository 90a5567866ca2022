import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CLUSTER_ENV } from '../base/env/index.ts'
import { FLEETRUN_FLAGS, LAUNCH_PS_FLAGS } from './launch-flags.ts'

const page = readFileSync(new URL('../../docs/guide/launch.md', import.meta.url), 'utf8')

/** The names in the first column of the table under a heading. */
function namesUnder(heading: string, name: RegExp): string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))!
  const cells = section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
  return cells.flatMap((line) => [...line.split('|')[1]!.matchAll(name)].map(([, found]) => found!)).sort()
}

test.each([
  ['Flags of fleetrun', FLEETRUN_FLAGS],
  ['Flags of launch_ps', LAUNCH_PS_FLAGS],
])('docs/guide/launch.md lists the %s', (heading, flags) => {
  expect(namesUnder(heading, /`--(\w+)`/g)).toEqual(Object.keys(flags).sort())
})

test('docs/guide/launch.md lists every variable that is read', () => {
  const listed = namesUnder('Environment of a process', /`(\w+)`/g)
  expect(Object.keys(CLUSTER_ENV).filter((name) => !listed.includes(name))).toEqual([])
})
