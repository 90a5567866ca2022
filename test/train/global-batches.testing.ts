/** @file Several processes against one: data in which their batches together are its batches, and all weights of a saved model. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadConfig } from '../../src/base/config/index.ts'
import { createRng } from '../../src/base/util/index.ts'
import { loadModel } from '../../src/model/index.ts'
import { createLocalParams, LocalParams } from '../../src/weights/params/index.ts'
import { loadSnapshot, openSnapshot } from '../../src/weights/snapshot/index.ts'

export const BATCH = 6 // of one process

/** Process p reads `folder`/p; one process alone reads `folder`/all, where each global batch is theirs in order. */
export async function writeGlobalBatches(folder: string, processes: number, steps: number): Promise<void> {
  const rng = createRng(5n)
  const line = () =>
    `click:${rng.below(2)} user:${rng.below(30)} item:${1000 + rng.below(30)} x:${rng.normal().toFixed(3)} x:${rng.normal().toFixed(3)}`
  const all: string[] = []
  const own = Array.from({ length: processes }, (): string[] => [])
  for (let k = 0; k < steps; k++) {
    for (const lines of own) {
      const batch = Array.from({ length: BATCH }, line)
      lines.push(...batch)
      all.push(...batch)
    }
  }
  for (const [part, lines] of [...own.map((lines, p) => [String(p), lines] as const), ['all', all] as const]) {
    await mkdir(join(folder, part), { recursive: true })
    await writeFile(join(folder, part, 'part-0'), `${lines.join('\n')}\n`)
  }
}

/** Dense weights, then the rows of each table by sign. */
export async function savedWeights(folder: string, saved: string, overrides: readonly string[]): Promise<number[]> {
  const config = loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })
  const { train: program, optimizer, tableOptimizers } = await loadModel(config)
  const params = new LocalParams(createLocalParams({ program, optimizer, tableOptimizers, seed: 1, threads: 1 }), 0)
  await loadSnapshot({ snapshot: await openSnapshot(saved, 'test'), params, emit: () => undefined })
  const dense = new Float32Array(params.dense.layout.floats)
  params.dense.pull(dense)
  const rows = params.tables.flatMap((table) => {
    const own = [...table.scan()].flatMap(({ signs, rows, rowBytes }) =>
      [...signs].map((sign, i) => ({
        sign,
        row: new Float32Array(rows.slice(i * rowBytes, i * rowBytes + 4 * table.dim).buffer),
      })),
    )
    return own.sort((a, b) => (a.sign < b.sign ? -1 : 1)).flatMap(({ row }) => [...row])
  })
  return [...dense, ...rows]
}
