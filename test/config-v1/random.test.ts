/** @file Random slips in a 1.x config are accepted, or refused with fixes that lead to one that is accepted. */
import { expect, test } from 'vitest'
import { ConfigError } from '../../src/base/config/index.ts'
import { createRng } from '../../src/base/util/index.ts'
import { applyPrintedFixes } from '../config/apply-fix.ts'
import { FIXTURE, parse, singleMachine } from './blocks.testing.ts'

const VALUES = ['', '-1', '0', '1.5', 'abc', '[1, 2]', '{a: 1}', 'True', '"x y"', '[]']
/** One error may hide another, but not many. */
const ROUNDS = 4

test('300 random slips are accepted or mended by what is printed', () => {
  const stuck: string[] = []
  for (let seed = 0; seed < 300; seed++) {
    let text = slip(seed)
    let message = refusal(text)
    for (let round = 0; message !== undefined && round < ROUNDS && !isAdvice(message); round++) {
      text = applyPrintedFixes(message, { path: 'config.yaml', text, overrides: [] }).text
      message = refusal(text)
    }
    if (message !== undefined && !isAdvice(message)) stuck.push(`seed ${seed}\n${message}`)
  }
  expect(stuck).toEqual([])
})

/** Nothing a program could apply. */
const isAdvice = (message: string) => /fix: (start from|use:|name |write this part)/.test(message)

/** A line taken out, given another value, or with a letter missing. */
function slip(seed: number): string {
  const rng = createRng(BigInt(seed))
  const lines = singleMachine(FIXTURE).split('\n')
  const keys = lines.flatMap((line, i) => (/^[ -]*\w+:/.test(line) ? [i] : []))
  const at = keys[rng.below(keys.length)]!
  const line = lines[at]!
  const kind = rng.below(3)
  if (kind === 0 && !line.startsWith('- ') && !/:\s*$/.test(line)) lines.splice(at, 1)
  else if (kind === 1) {
    const letter = line.search(/\w/) + rng.below(3)
    lines[at] = line.slice(0, letter) + line.slice(letter + 1)
  } else lines[at] = line.replace(/:.*/, `: ${VALUES[rng.below(VALUES.length)]}`)
  return lines.join('\n')
}

function refusal(text: string): string | undefined {
  try {
    parse(text)
    return undefined
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}
