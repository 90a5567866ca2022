/** @file Configs and backends as PaddleRec 1.x's guide writes them parse as they stand. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { LoadedBackend, LoadedRunConfig } from '../../src/base/config/index.ts'
import { FIXTURE, isBackend, parseBlock, singleMachine, yamlBlocks } from './blocks.testing.ts'

const { OARFISH_SEEDS } = process.env

describe('the blocks of a guide', () => {
  allParse(FIXTURE, 4)

  test('a runner has what its block says, and defaults for the rest', () => {
    const { config } = parseBlock(singleMachine(FIXTURE)) as LoadedRunConfig
    const [runner, dataset, phase] = [config.runner[0]!, config.dataset[0]!, config.phase[0]!]
    expect(config.mode).toEqual(['train_here'])
    expect(runner).toMatchObject({ class: 'train', epochs: 4, save_checkpoint_path: '/job/increment_dnn', seed: 12345 })
    expect(runner.distribute_strategy).toBe('async')
    expect(dataset.slots.sparse).toHaveLength(27)
    expect(dataset.slots.dense).toEqual([{ name: 'dense_var', dims: [13], width: 13 }])
    expect(phase.model).toMatch(/models\/rank\/dnn\/model\.py$/)
    expect(dataset.data_path).toMatch(/models\/rank\/dnn\/data\/sample_data\/train$/)
  })
})

test('the example of docs/reference/config-v1.md parses', () => {
  const page = readFileSync(new URL('../../docs/reference/config-v1.md', import.meta.url), 'utf8')
  // Others are a part of one.
  const whole = yamlBlocks(page).filter((block) => block.includes('workspace:'))
  expect(whole.map((block) => (parseBlock(block) as LoadedRunConfig).config.mode)).toEqual([['single_cpu_train']])
})

describe.skipIf(!OARFISH_SEEDS)('the guide in OARFISH_SEEDS', () => {
  const file = OARFISH_SEEDS ? readdirSync(OARFISH_SEEDS).find((name) => /^000.*\.txt$/.test(name)) : undefined
  allParse(file ? readFileSync(join(OARFISH_SEEDS!, file), 'utf8') : '', 9)
})

function allParse(text: string, least: number): void {
  const blocks = yamlBlocks(text)

  test(`there are at least ${least}, and every one parses verbatim`, () => {
    expect(blocks.length).toBeGreaterThanOrEqual(least)
    for (const block of blocks) expect(() => parseBlock(block)).not.toThrow()
  })

  test('keys written twice are a warning that names both lines', () => {
    const warnings = blocks.filter(isBackend).flatMap((block) => (parseBlock(block) as LoadedBackend).warnings)
    const twice = ['submit.k8s_trainers', 'submit.k8s-cpu-cores']
    expect(warnings).toHaveLength(2)
    for (const [i, key] of twice.entries())
      expect(warnings[i]).toMatch(
        new RegExp(`^backend\\.yaml:\\d+:3 ${key}: also set on line \\d+; the last one counts$`),
      )
  })
}
