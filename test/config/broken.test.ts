/** @file Every broken config says what is wrong, and the fix it prints makes `check` pass. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError, loadConfig, validateHyperParameters } from '../../src/base/config/index.ts'
import { applyPrintedFixes, type Input } from './apply-fix.ts'
import { BROKEN, type Broken, SOUND } from './broken.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-config-'))
  writeFileSync(join(folder, 'my_reader.ts'), '')
})
afterAll(() => rmSync(folder, { recursive: true }))

// As a model would declare it.
const hyperParameters = z.strictObject({
  optimizer: z
    .strictObject({
      class: z.enum(['SGD', 'Adam', 'Adagrad']).default('Adam'),
      learning_rate: z.number().gt(0).default(0.001),
      strategy: z.string().optional(),
    })
    .prefault({}),
  sparse_inputs_slots: z.int().min(1).default(27),
  sparse_feature_number: z.int().min(1).default(1000001),
  sparse_feature_dim: z.int().min(1).default(9),
  dense_input_dim: z.int().min(0).default(13),
  fc_sizes: z.array(z.int().min(1)).default([512, 256, 128, 32]),
})

function check({ path, text, overrides }: Input) {
  writeFileSync(join(folder, 'config.yaml'), text)
  const loaded = loadConfig({ path, overrides, cwd: folder })
  return { runner: loaded.config.runner, hyper_parameters: validateHyperParameters(loaded, hyperParameters) }
}

function messageOf(input: Input): string | undefined {
  try {
    check(input)
    return undefined
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message
  }
}

const inputOf = ({ text, overrides = [], path = 'config.yaml' }: Broken): Input => ({ path, text, overrides })

test('the config that all others are broken from is sound', () => {
  expect(messageOf({ path: 'config.yaml', text: SOUND, overrides: [] })).toBeUndefined()
})

test('there are at least 60 broken configs, all different', () => {
  expect(new Set(BROKEN.map((broken) => JSON.stringify(inputOf(broken)))).size).toBe(BROKEN.length)
  expect(BROKEN.length).toBeGreaterThanOrEqual(60)
})

describe.each(BROKEN)('$name', (broken) => {
  test('says what is wrong, and its printed fix mends it', () => {
    const message = messageOf(inputOf(broken))
    expect(message).toContain(broken.says)
    const fixed = applyPrintedFixes(message!, inputOf(broken))
    const again = messageOf(fixed)
    expect(again, `after the fix of\n${message}\nthe text is\n${fixed.text}`).toBeUndefined()
    if (broken.then) expect(valueAt(check(fixed), broken.then[0])).toEqual(broken.then[1])
  })
})

function valueAt(value: unknown, key: string): unknown {
  return key.split('.').reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], value)
}
