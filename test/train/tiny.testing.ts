/** @file Sets up the small model of tiny.model.ts in a folder of its own, with slot text that it can learn. */
import { copyFile, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../src/base/config/index.ts'
import type { Event } from '../../src/base/event/index.ts'
import { createRng } from '../../src/base/util/index.ts'
import { infer, type TrainOptions, train } from '../../src/training/driver/index.ts'

/**
 * Without evaluation: for stops that are to fall into an epoch. Of several processes that are stopped inside an evaluation, the epoch is trained
 * and saved, and nothing is interrupted.
 */
export const TRAIN_ONLY = 'train-only.yaml'

/** A folder with config.yaml, TRAIN_ONLY, static_model.ts, data/train (three files) and data/test. */
export async function tinyFolder(rows = 1280): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-tiny-'))
  await copyFile(fileURLToPath(new URL('./tiny.model.ts', import.meta.url)), join(folder, 'static_model.ts'))
  await writeFile(join(folder, 'config.yaml'), CONFIG)
  await writeFile(join(folder, TRAIN_ONLY), CONFIG.replace(/^.*test_data_dir.*\n/m, ''))
  for (const [part, count] of [
    ['train', 3],
    ['test', 1],
  ] as const) {
    await mkdir(join(folder, 'data', part), { recursive: true })
    for (let i = 0; i < count; i++)
      await writeFile(join(folder, 'data', part, `part-${i}`), lines(rows / 4, part === 'test' ? 99 : i))
  }
  return folder
}

const CONFIG = `runner:
  train_data_dir: data/train
  test_data_dir: data/test
  train_batch_size: 48
  infer_batch_size: 64
  epochs: 1
  print_interval: 5
hyper_parameters:
  dim: 3
`

/** Clicks follow the user's parity, the length of the history and the first dense value. */
function lines(rows: number, seed: number): string {
  const rng = createRng(BigInt(seed))
  const text = Array.from({ length: rows }, () => {
    const user = rng.below(20)
    const tags = Array.from({ length: 1 + rng.below(3) }, () => 100 + rng.below(10))
    const history = Array.from({ length: rng.below(6) }, () => 18446744073709551615n - BigInt(rng.below(15)))
    const x = [rng.uniform(), rng.uniform()]
    const click = (user % 2) + history.length / 3 + x[0]! + 0.3 * rng.normal() > 1.8 ? 1 : 0
    const slots = [...tags.map((tag) => `tags:${tag}`), ...history.map((item) => `history:${item}`)]
    return `click:${click} user:${user} ${slots.join(' ')} x:${x[0]!.toFixed(4)} x:${x[1]!.toFixed(4)}`
  })
  return `${text.join('\n')}\n`
}

export interface TinyRun {
  readonly events: readonly Event[]
  readonly result: Awaited<ReturnType<typeof train>>
}

/** Evaluates what trainTiny saved in the folder. */
export async function inferTiny(folder: string, overrides: readonly string[] = []) {
  const events: Event[] = []
  const config = loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })
  const result = await infer({ config, emit: (event) => events.push(event) })
  return { events, result }
}

export async function trainTiny(
  folder: string,
  overrides: readonly string[] = [],
  options: Partial<TrainOptions> = {},
): Promise<TinyRun> {
  const events: Event[] = []
  const config = loadConfig({ path: join(folder, 'config.yaml'), overrides, cwd: folder })
  const result = await train({ config, emit: (event) => events.push(event), digest: true, ...options })
  return { events, result }
}
