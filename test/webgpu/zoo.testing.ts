/** @file Models that ship, on WebGPU beside the CPU: losses, outputs and gradients of a batch. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Program } from '../../src/graph/program/index.ts'
import { loadModel } from '../../src/model/index.ts'
import { lacking, softwareAdapter } from './adapter.testing.ts'
import { apart, drawnInputs, runOn } from './agree.testing.ts'

const MODELS = fileURLToPath(new URL('../../models', import.meta.url))
export const CONFIGS: readonly string[] = readdirSync(MODELS, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('/config.yaml'),
)

/** Counts comparisons of scores: where two are equal but for rounding, one sample may be counted here and not there. */
const COUNTS: Readonly<Record<string, string>> = { 'recall/mind/config.yaml': 'metric:hit' }

/** Of models whose items are numbered from 1: 0 is no item to be found. */
const LEAST: Readonly<Record<string, number>> = { 'recall/sr_gnn/config.yaml': 1 }

/** Forward and backward: evaluation is the first half of it. */
export async function trainingProgram(path: string): Promise<Program> {
  return (await loadModel(loadConfig({ path: join(MODELS, path) }))).train
}

export function zooTests(title: string, configs: readonly string[]): void {
  describe.skipIf(lacking)(`webgpu: ${title} at batch 16`, { timeout: 900_000 }, () => {
    test.each(configs)('%s computes as on the CPU, to 1e-4', async (path) => {
      const train = await trainingProgram(path)
      const inputs = drawnInputs(train, 16, { least: LEAST[path] ?? 0 })
      const here = await runOn(undefined, train, inputs)
      expect(Object.keys(here)).toContain('loss')
      const { [COUNTS[path] ?? '']: count, ...different } = apart(
        here,
        await runOn(softwareAdapter(), train, inputs),
        1e-4,
      )
      expect(different).toEqual({})
      expect(count ?? 0).toBeLessThanOrEqual(1 / 16)
    })
  })
}
