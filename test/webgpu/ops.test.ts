/** @file Every op on WebGPU: where it runs, as docs/guide/devices.md says, and that it computes what the CPU does. */

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { backward } from '../../src/graph/autodiff/index.ts'
import { ortEngine } from '../../src/graph/engine/index.ts'
import type { OpKind, Program } from '../../src/graph/program/index.ts'
import { asFloat32, caseInputs, caseProgram, type OpCase, SIZES } from '../ops/case.ts'
import { OP_CASES } from '../ops/op-cases.ts'
import { lacking, softwareAdapter } from './adapter.testing.ts'
import { apart, runOn } from './agree.testing.ts'

const GUIDE = readFileSync(new URL('../../docs/guide/devices.md', import.meta.url), 'utf8')
/** The first column of the table: ops, and of gradients those of an op. */
const FALLS_BACK = [...GUIDE.matchAll(/^\| `([a-z_]+)`( \(gradient\))? \|/gm)].map(
  ([, op, gradient]) => `${op}${gradient ?? ''}`,
)

/** Whether all of it runs on the device. */
async function runsThere(program: Program): Promise<boolean> {
  try {
    const session = await ortEngine({ device: softwareAdapter(), strict: true }).compile(program)
    await session.close()
    return true
  } catch (error) {
    expect((error as Error).message).toContain('assigned to the default CPU EP')
    return false
  }
}

describe.skipIf(lacking)('webgpu: every op', () => {
  test('runs on the device, or is in the table of those that do not', async () => {
    const elsewhere: string[] = []
    for (const [name, op] of Object.entries<OpCase>(OP_CASES)) {
      const forward = caseProgram(op, SIZES)
      if (!(await runsThere(forward))) elsewhere.push(name)
      else if (!(await runsThere(backward(forward, 'loss')))) elsewhere.push(`${name} (gradient)`)
    }
    expect(elsewhere.sort()).toEqual(FALLS_BACK.sort())
  })

  test.each(Object.keys(OP_CASES) as OpKind[])('computes as on the CPU: %s', async (name) => {
    const op = OP_CASES[name]
    const program = backward(caseProgram(op, SIZES), 'loss')
    const inputs = asFloat32(caseInputs(program, op, SIZES, 3))
    const [here, there] = [await runOn(undefined, program, inputs), await runOn(softwareAdapter(), program, inputs)]
    expect(apart(here, there, 1e-4)).toEqual({})
  })
})
