/** @file An export read by another language: the script of examples/export_reader has nothing but the folder. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Exported, exported } from '../export/exported.testing.ts'

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const environment = spawnSync(process.execPath, [file('scripts/python-env.mjs')], { encoding: 'utf8' })
if (environment.status !== 0) console.warn(`python-onnx is skipped: ${environment.stderr.trim()}`)

describe.skipIf(environment.status !== 0)('python-onnx', () => {
  const python = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(environment.stdout.trim(), args, { encoding: 'utf8', timeout: 60_000 })
    return { status, scores: stdout.trim().split('\n').map(Number), stderr }
  }

  describe.each(['tiny', 'inits'] as const)('of the model %s', (model) => {
    let made: Exported
    beforeAll(async () => {
      made = await exported(model)
    })
    afterAll(() => rmSync(made.folder, { recursive: true, force: true }))

    test('score.py agrees with the trainer to 1e-6, for ids that no table has too', () => {
      const { status, scores, stderr } = python(file('examples/export_reader/score.py'), made.out)
      const expected = JSON.parse(readFileSync(join(made.out, 'samples.json'), 'utf8')).scores
      expect([status, stderr]).toEqual([0, ''])
      expect(scores).toHaveLength(8)
      for (const [i, score] of scores.entries()) expect(Math.abs(score - expected[i])).toBeLessThan(1e-6)
    })

    test('score.py scores other samples, and refuses a damaged file', () => {
      const own = JSON.parse(readFileSync(join(made.out, 'samples.json'), 'utf8'))
      const others = join(made.folder, 'others.json')
      writeFileSync(others, JSON.stringify({ instances: own.instances.toReversed() }))
      const { scores } = python(file('examples/export_reader/score.py'), made.out, others)
      expect(scores[0]).toBeCloseTo(own.scores.at(-1), 6)
      const table = join(made.out, 'table-0.bin')
      const bytes = readFileSync(table)
      bytes[200]! ^= 1
      writeFileSync(table, bytes)
      expect(python(file('examples/export_reader/score.py'), made.out).stderr).toContain('table-0.bin is damaged')
    })

    test('model.onnx and folded.onnx pass onnx.checker', () => {
      const check = 'import onnx,sys\nfor p in sys.argv[1:]: onnx.checker.check_model(onnx.load(p), full_check=True)'
      const { status, stderr } = python('-c', check, join(made.out, 'model.onnx'), join(made.out, 'folded.onnx'))
      expect([status, stderr]).toEqual([0, ''])
    })
  })
})
