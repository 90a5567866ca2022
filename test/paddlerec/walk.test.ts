/**
 * @file PaddleRec's own files, as they are: `OARFISH_PADDLEREC=DIR` names a checkout, `OARFISH_PADDLE_PYTHON` a Python with a real paddle (default python3).
 * `OARFISH_PADDLEREC_ONLY` is a part of the names of readers, where only those are to be compared.
 * With `OARFISH_PADDLEREC_WRITE=1` what is found is written to docs/reference/paddlerec.md.
 */
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { pageOf } from './page.testing.ts'
import {
  compareReader,
  type DraftResult,
  type ModelResult,
  type ReaderResult,
  readersOf,
  walkModels,
  walkNets,
  walkYaml,
} from './walk.testing.ts'

const checkout = process.env['OARFISH_PADDLEREC']
const python = process.env['OARFISH_PADDLE_PYTHON'] ?? 'python3'
const only = new RegExp(process.env['OARFISH_PADDLEREC_ONLY'] ?? '')
const page = fileURLToPath(new URL('../../docs/reference/paddlerec.md', import.meta.url))

/** Fifty readers, each in two processes: a busy machine takes as long as it takes. */
const NO_LIMIT = 0

/** What a person would agree with: other tools' files, and what this build says it does not have. */
const REASONS = [/PGLBox/, /another kind of file/]

describe.skipIf(checkout === undefined)('a checkout of PaddleRec (OARFISH_PADDLEREC)', () => {
  const results = checkout === undefined ? [] : walkYaml(checkout)
  let models: readonly ModelResult[] = []
  let drafts: readonly DraftResult[] = []
  let whole = false
  const readers: ReaderResult[] = []

  afterAll(() => {
    if (process.env['OARFISH_PADDLEREC_WRITE'] && whole)
      writeFileSync(page, pageOf({ checkout: checkout!, results, models, drafts, readers }))
  })

  test('has no yaml that is refused for a reason of ours', () => {
    const refused = results.flatMap(({ file, refused }) => (refused === undefined ? [] : [`${file}: ${refused}`]))
    console.log(
      `${results.length - refused.length} of ${results.length} yaml files load; refused:\n${refused.join('\n')}`,
    )
    expect(results.length).toBeGreaterThan(30)
    expect(refused.filter((line) => !REASONS.some((reason) => reason.test(line)))).toEqual([])
  })

  test('has hyper-parameters that the models of this package take', async () => {
    models = await walkModels(results)
    const refused = models.flatMap(({ file, outcome }) =>
      outcome.kind === 'refused' ? [`${file}: ${outcome.reason}`] : [],
    )
    console.log(
      `${models.filter(({ outcome }) => outcome.kind === 'traced').length} configs fit a model of this package; refused:\n${refused.join('\n')}`,
    )
    expect(refused).toEqual([])
  })

  test('has nets of which drafts are made', { timeout: NO_LIMIT }, async () => {
    drafts = await walkNets(checkout!)
    console.log(drafts.map(({ folder, gaps }) => `${folder}: ${gaps.length} not translated`).join('\n'))
    expect(drafts.length).toBeGreaterThan(30)
  })

  test('has readers that give here what they give in plain Python', { timeout: NO_LIMIT }, async () => {
    for (const { loaded } of readersOf(results)) {
      if (!only.test(loaded.config.runner.train_reader_path!)) continue
      let result = await compareReader(checkout!, loaded, python)
      // Those that need a real numpy, or another package, say so; with it, they must give the same.
      if (result.outcome.kind === 'refused' && /numpy|tolist|No module named/.test(result.outcome.reason))
        result = {
          ...(await withPath(dirname(python), () => compareReader(checkout!, loaded, python))),
          needsNumpy: true,
        }
      readers.push(result)
    }
    const lines = readers.map(({ reader, outcome }) => `${reader}: ${JSON.stringify(outcome)}`)
    console.log(lines.join('\n'))
    whole = only.source === '(?:)'
    expect(lines.filter((line) => /"kind":"(differs|refused)"/.test(line))).toEqual([])
  })
})

async function withPath<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const before = process.env['PATH']
  process.env['PATH'] = `${folder}:${before}`
  try {
    return await work()
  } finally {
    process.env['PATH'] = before
  }
}
