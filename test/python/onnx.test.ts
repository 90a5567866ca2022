/** @file The emitted files in the tools others use: onnx.checker and onnxruntime from PyPI. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { backward, inference } from '../../src/graph/autodiff/index.ts'
import { referenceEngine, type TensorView } from '../../src/graph/engine/index.ts'
import { toOnnx } from '../../src/graph/onnx/index.ts'
import { type DType, type Program, programInputs } from '../../src/graph/program/index.ts'
import { caseInputs, caseProgram, type OpCase, SIZES } from '../ops/case.ts'
import { LAYER_CASES } from '../ops/layer-cases.ts'
import { OP_CASES } from '../ops/op-cases.ts'

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const environment = spawnSync(process.execPath, [file('scripts/python-env.mjs')], { encoding: 'utf8' })
if (environment.status !== 0) console.warn(`python-onnx is skipped: ${environment.stderr.trim()}`)

describe.skipIf(environment.status !== 0)('python-onnx', () => {
  const folder = mkdtempSync(join(tmpdir(), 'oarfish-onnx-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  test('every op and layer, with its gradients, passes onnx.checker and gives the same numbers in Python', async () => {
    const cases = Object.entries<OpCase>({ ...OP_CASES, ...LAYER_CASES })
    for (const [name, op] of cases) {
      const program = caseProgram(op, SIZES)
      await record(name, backward(program, 'loss'), op)
      await record(`${name}-inference`, inference(program, ['y']), op)
    }
    const { stdout, stderr } = spawnSync(environment.stdout.trim(), [file('test/python/check_onnx.py'), folder], {
      encoding: 'utf8',
    })
    const lines = stdout.trim().split('\n')
    expect(
      lines.filter((line) => !line.startsWith('ok')),
      stderr,
    ).toEqual([])
    expect(lines).toHaveLength(2 * cases.length)
  })

  async function record(name: string, program: Program, op: OpCase): Promise<void> {
    const inputs = caseInputs(program, op, SIZES, 5)
    const outputs = await (await referenceEngine({ precision: 'float32' }).compile(program)).run(inputs)
    const dtypes = new Map([...programInputs(program), ...program.fetches].map((item) => [item.name, item.dtype]))
    const plain = (views: Record<string, TensorView>) =>
      Object.fromEntries(Object.entries(views).map(([key, view]) => [key, recorded(view, dtypes.get(key)!)]))
    writeFileSync(join(folder, `${name}.onnx`), toOnnx(program))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ inputs: plain(inputs), outputs: plain(outputs) }))
  }
})

function recorded({ dims, data }: TensorView, dtype: DType) {
  return { dims, dtype, values: Array.from(data, Number) }
}
