import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { loadConfig } from './load.ts'
import { checkDataDirs, configErrorAt, validateHyperParameters } from './validate.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-config-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function load(rest: string, overrides: readonly string[] = []) {
  writeFileSync(join(folder, 'config.yaml'), `runner:\n  train_data_dir: data/train\n  train_batch_size: 512\n${rest}`)
  return loadConfig({ path: 'config.yaml', overrides, cwd: folder })
}

const schema = z.strictObject({
  dim: z.int().min(1).default(9),
  fc_sizes: z.array(z.int().min(1)).default([8]),
  pool: z.union([z.literal('sum'), z.literal('mean')]).default('sum'),
  distributed_embedding: z.boolean().default(false),
  width: z.number(),
})

test("hyper-parameters take the model's defaults and PaddleRec's loose types", () => {
  const loaded = load('hyper_parameters:\n  width: "2.5"\n  distributed_embedding: 0\n')
  expect(validateHyperParameters(loaded, schema)).toEqual({
    dim: 9,
    fc_sizes: [8],
    pool: 'sum',
    distributed_embedding: false,
    width: 2.5,
  })
})

test('errors in hyper-parameters have their place in the yaml, all at once', () => {
  const loaded = load('hyper_parameters:\n  dims: 8\n  fc_sizes: [512, -1]\n  pool: avg\n')
  expect(() => validateHyperParameters(loaded, schema)).toThrowErrorMatchingInlineSnapshot(`
    [UserError: config.yaml:4:1 hyper_parameters.width: missing, expected a number
        4 | hyper_parameters:
          | ^^^^^^^^^^^^^^^^
      fix: insert after line 4:
        5 |   width: 1

    config.yaml:5:3 hyper_parameters.dims: unknown key - did you mean "dim"?
        5 |   dims: 8
          |   ^^^^
      fix: replace line 5 with:
        5 |   dim: 8

    config.yaml:6:19 hyper_parameters.fc_sizes.1: expected a whole number from 1 on, got -1
        6 |   fc_sizes: [512, -1]
          |                   ^^
      fix: replace line 6 with:
        6 |   fc_sizes: [512, 1]

    config.yaml:7:9 hyper_parameters.pool: expected sum or mean, got "avg"
        7 |   pool: avg
          |         ^^^
      fix: replace line 7 with:
        7 |   pool: sum

    4 errors in config.yaml]
  `)
})

test('errors in hyper-parameters that came by -o name the argument', () => {
  const loaded = load('hyper_parameters:\n  width: 1\n', ['hyper_parameters.dim=0'])
  expect(() => validateHyperParameters(loaded, schema)).toThrow(
    '-o hyper_parameters.dim=0: expected a whole number from 1 on, got 0\n  fix: write -o hyper_parameters.dim=1',
  )
})

test('a missing data folder is named with the nearest that exists', () => {
  mkdirSync(join(folder, 'data', 'trian'), { recursive: true })
  expect(() => checkDataDirs(load(''))).toThrow('did you mean "data/trian"?\n    2 |   train_data_dir: data/train')
  mkdirSync(join(folder, 'data', 'train'))
  expect(() => checkDataDirs(load(''))).not.toThrow()
})

test('a file where a folder is expected', () => {
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'train'), '')
  expect(() => checkDataDirs(load(''))).toThrow('expected a folder, got the file')
})

test('a model can place an error of its own', () => {
  const error = configErrorAt(load('hyper_parameters:\n  dim: 9\n'), 'hyper_parameters.dim', 'the data has 8', 8)
  expect(error.message).toMatchInlineSnapshot(`
    "config.yaml:5:8 hyper_parameters.dim: the data has 8
        5 |   dim: 9
          |        ^
      fix: replace line 5 with:
        5 |   dim: 8

    1 error in config.yaml"
  `)
})

test('a check over several keys brings its own fix', () => {
  const both = z.strictObject({ sizes: z.array(z.int()), acts: z.array(z.string()) }).check(({ value, issues }) => {
    const { sizes, acts } = value
    if (acts.length === sizes.length) return
    const params = { fix: sizes.map(() => 'relu') }
    issues.push({ code: 'custom', path: ['acts'], input: acts, message: 'one for each of sizes', params })
  })
  const loaded = load('hyper_parameters:\n  sizes: [8, 4]\n  acts: [relu]\n')
  expect(() => validateHyperParameters(loaded, both)).toThrow('one for each of sizes, got ["relu"]')
  expect(() => validateHyperParameters(loaded, both)).toThrow('acts: ["relu", "relu"]')
})
