/** @file The docs cannot go stale: they are what the schema says, and every error code has its section. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { CONFIG_CODES, jsonSchema } from '../../src/base/config/index.ts'

const root = new URL('../../', import.meta.url)

test('docs/reference/config.md and docs/config.schema.json are what the schema says', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL('scripts/docs.mjs', root)), '--check'],
    { encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  expect(status).toBe(0)
})

test('every error code has a section in docs/reference/errors.md', () => {
  const sections = [
    ...readFileSync(new URL('docs/reference/errors.md', root), 'utf8').matchAll(/^#+ (CONFIG_\w+)$/gm),
  ].map((match) => match[1])
  expect(sections.sort()).toEqual([...CONFIG_CODES].sort())
})

test('the JSON Schema refuses unknown keys and describes every key of the runner', () => {
  const schema = jsonSchema() as {
    properties: {
      runner: {
        additionalProperties: boolean
        required: string[]
        properties: Record<string, { description?: string }>
      }
    }
  }
  const { runner } = schema.properties
  expect(runner.additionalProperties).toBe(false)
  expect(runner.required).toEqual(['train_data_dir', 'train_batch_size'])
  const bare = Object.entries(runner.properties).filter(([, { description }]) => !description)
  expect(bare).toEqual([])
})
