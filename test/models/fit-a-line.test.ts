/** @file examples/fit_a_line: linear regression through a reader of its own, on the bundled sample and on the real data. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { train } from '../../src/training/driver/index.ts'

const EXAMPLE = fileURLToPath(new URL('../../examples/fit_a_line/', import.meta.url))
const { OARFISH_DATA } = process.env

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-line-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('fit a line', () => {
  test('comes near what least squares solved exactly reaches', async () => {
    const { metrics, evaluation } = await fitLine(join(EXAMPLE, 'data'))
    expect(metrics['loss']).toBeGreaterThan(7.74) // exact: 7.750
    expect(metrics['loss']).toBeLessThan(7.95)
    expect(evaluation!['loss']).toBeCloseTo(10.4, 0)
  })

  test('finds the price in the column that targetColumn names', async () => {
    const lines = (await readFile(join(EXAMPLE, 'data', 'housing.data'), 'utf8')).trimEnd().split('\n')
    const moved = lines.map((line) => {
      const columns = line.trim().split(/\s+/)
      return [columns.at(-1), ...columns.slice(0, -1)].join(' ')
    })
    await writeFile(join(folder, 'housing.data'), `${moved.join('\n')}\n`)
    const [last, first] = [
      await fitLine(join(EXAMPLE, 'data'), ['runner.epochs=3']),
      await fitLine(folder, ['runner.epochs=3', 'runner.custom.targetColumn=0']),
    ]
    expect(first.digest).toBe(last.digest)
    expect((await fitLine(folder, ['runner.epochs=3'])).digest).not.toBe(last.digest)
  })

  test.each([
    ['1 2 3\n4 5 6\n', 5, 'targetColumn is 5, but the data has 3 columns'],
    ['1 2 3\n\n4 5\n', -1, 'housing.data:3 has 2 columns, the first row has 3'],
    ['1 2 x\n', -1, 'housing.data:1 has a column that is not a number'],
  ])('says what is wrong with %j and targetColumn %i', async (text, target, message) => {
    await writeFile(join(folder, 'housing.data'), text)
    const fitted = fitLine(folder, [`runner.custom.targetColumn=${target}`, 'hyper_parameters.feature_dim=2'])
    await expect(fitted).rejects.toThrow(message)
  })
})

describe.skipIf(!OARFISH_DATA)('fit a line on OARFISH_DATA/housing.data', () => {
  test('comes near what least squares solved exactly reaches', async () => {
    const { samples, metrics, evaluation } = await fitLine(OARFISH_DATA!, ['runner.custom.targetColumn=0'])
    expect(samples).toBe(100 * 405)
    expect(metrics['loss']).toBeGreaterThan(22.7) // exact: 22.74, of a variance of 85.9
    expect(metrics['loss']).toBeLessThan(25)
    expect(evaluation!['loss']).toBeLessThan(21) // of a variance of 26.6
  })
})

function fitLine(data: string, overrides: readonly string[] = []) {
  const own = [`runner.train_data_dir=${data}`, `runner.test_data_dir=${data}`, 'runner.model_save_path=']
  const config = loadConfig({ path: join(EXAMPLE, 'config.yaml'), overrides: [...own, ...overrides] })
  return train({ config, emit: () => {}, digest: true })
}
