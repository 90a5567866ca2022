/** @file Whatever happens to a config, the answer is a config or an error with a fix: never a crash, never silence. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, loadConfig } from '../../src/base/config/index.ts'
import { createRng, type Rng } from '../../src/base/util/index.ts'
import { SOUND } from './broken.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-config-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const PIECES = [
  ' ',
  ':',
  '"',
  "'",
  '\t',
  '[',
  '}',
  '-',
  '#',
  '*',
  '&',
  '!',
  '|',
  '%',
  ',',
  '9',
  '\n',
  '=',
  '?',
  '<<: *x',
  '中',
]

/** One character gone, one too many, or a line cut off. */
function mutate(text: string, rng: Rng): string {
  const at = rng.below(text.length)
  const kind = rng.below(3)
  if (kind === 0) return text.slice(0, at) + text.slice(at + 1)
  if (kind === 1) return text.slice(0, at) + PIECES[rng.below(PIECES.length)] + text.slice(at)
  return text.slice(0, at) + text.slice(text.indexOf('\n', at))
}

test('200 random slips are accepted or refused with a fix', () => {
  const rng = createRng(7n)
  const outcomes = { accepted: 0, refused: 0 }
  for (let i = 0; i < 200; i++) {
    const text = mutate(SOUND, rng)
    writeFileSync(join(folder, 'config.yaml'), text)
    try {
      loadConfig({ path: 'config.yaml', cwd: folder })
      outcomes.accepted++
    } catch (error) {
      expect(error, text).toBeInstanceOf(ConfigError)
      expect((error as ConfigError).message, text).toMatch(/^ {2}fix: /m)
      outcomes.refused++
    }
  }
  expect(outcomes.refused).toBeGreaterThan(50)
})
