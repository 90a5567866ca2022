/** @file Training, evaluation and scoring on WebGPU, beside the same on the CPU; what a host without a device does. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { serve } from '../../src/inference/serve/index.ts'
import { openPredictor } from '../../src/library/index.ts'
import { infer } from '../../src/training/driver/index.ts'
import { type Exported, exported, testLines } from '../export/exported.testing.ts'
import { oarfish } from '../oarfish.testing.ts'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { ADAPTER_ENV, lacking } from './adapter.testing.ts'

const ROWS = 192
const ON = 'runner.device=webgpu'

describe.skipIf(lacking)('webgpu: training', () => {
  let folder: string
  beforeAll(async () => {
    folder = await tinyFolder(ROWS)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('learns what the CPU learns, and evaluates alike', async () => {
    const [cpu, gpu] = [await trainTiny(folder, []), await trainTiny(folder, [ON])]
    expect(gpu.result.samples).toBe(cpu.result.samples)
    expect(gpu.result.metrics['loss']).toBeCloseTo(cpu.result.metrics['loss']!, 4)
    expect(gpu.result.evaluation!['loss']).toBeCloseTo(cpu.result.evaluation!['loss']!, 4)
    const config = loadConfig({ path: join(folder, 'config.yaml'), overrides: [ON], cwd: folder })
    const { epochs } = await infer({ config, emit: () => {} })
    expect(epochs[0]!.metrics['loss']).toBeCloseTo(cpu.result.evaluation!['loss']!, 4)
  })

  test('several threads take turns on it', async () => {
    const { result } = await trainTiny(folder, [ON, 'runner.thread_num=2'])
    expect(result.samples).toBe((ROWS / 4) * 3)
    expect(result.metrics['loss']).toBeGreaterThan(0)
  })
})

describe.skipIf(lacking)('webgpu: scoring', () => {
  let made: Exported
  beforeAll(async () => {
    made = await exported('tiny')
  })
  afterAll(() => rmSync(made.folder, { recursive: true, force: true }))

  test('predict, openPredictor and serve give the scores of the CPU', async () => {
    const file = join(made.folder, 'data', 'test', 'part-0')
    const score = async (device: 'cpu' | 'webgpu') => {
      await using predictor = await openPredictor({ model: made.out, device })
      const scores: number[] = []
      for await (const part of predictor.scoreFiles({ input: file })) scores.push(...part.scores)
      return scores
    }
    const [cpu, gpu] = [await score('cpu'), await score('webgpu')]
    expect(gpu).toHaveLength(cpu.length)
    expect(Math.max(...cpu.map((value, i) => Math.abs(value - gpu[i]!)))).toBeLessThan(1e-5)

    const args = ['predict', '--model', made.out, '--device', 'webgpu', file]
    const { code, out } = await oarfish(args, made.folder, undefined, ADAPTER_ENV)
    expect(code, out).toBe(0)
    expect(Number(out.split('\n')[0])).toBeCloseTo(cpu[0]!, 5)

    const served = await serve({ model: made.out, port: 0, threads: 2, device: 'webgpu', emit: () => {} })
    try {
      const [line] = await testLines(made.folder)
      const answer = await fetch(`${served.url}/predict`, { method: 'POST', body: `${line}\n` })
      expect(JSON.stringify(await answer.json())).toContain(String(cpu[0]!.toFixed(4)).slice(0, 5))
    } finally {
      await served.close()
    }
  })

  test('oarfish devices lists the adapter with its limits; --json says the same', async () => {
    const text = await oarfish(['devices'], made.folder, undefined, ADAPTER_ENV)
    expect(text.out).toMatch(
      /webgpu\n {2}0 SwiftShader .* \(software, Vulkan 1\.\d\)\n {4}memory \d+ MiB, largest buffer 1024 MiB/,
    )
    const json = await oarfish(['devices', '--json'], made.folder, undefined, ADAPTER_ENV)
    expect(JSON.parse(json.out)).toMatchObject({ webgpu: { adapters: [{ type: 'software', lacks: [] }] }, auto: 'cpu' })
  })
})
