/** @file The folder of a job that counts its samples: config, model, data, in which every sample has an id of its own. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRng } from '../../src/base/util/index.ts'

/** Of an epoch. */
export const SAMPLES = 9600
export const EPOCHS = 2
const FILES = 6
const TEST_SAMPLES = 1280
const BATCH = 32

const configOf = (epochs: number) => `runner:
  train_data_dir: data/train
  test_data_dir: data/test
  train_batch_size: ${BATCH}
  infer_batch_size: ${BATCH}
  epochs: ${epochs}
  print_interval: 4
`

export function makeCountingFolder(folder: string, { samples = SAMPLES, epochs = EPOCHS } = {}): void {
  mkdirSync(join(folder, 'data/train'), { recursive: true })
  mkdirSync(join(folder, 'data/test'), { recursive: true })
  copyFileSync(fileURLToPath(new URL('./counting.model.ts', import.meta.url)), join(folder, 'static_model.ts'))
  writeFileSync(join(folder, 'config.yaml'), configOf(epochs))
  const each = samples / FILES
  for (let i = 0; i < FILES; i++) writeFileSync(join(folder, `data/train/part-${i}`), lines(1 + i * each, each))
  writeFileSync(join(folder, 'data/test/part-0'), lines(1 + samples, TEST_SAMPLES))
}

/** Samples with ids from `first` on; clicks follow user, item and the first dense value. */
function lines(first: number, count: number): string {
  const rng = createRng(BigInt(first))
  const text = Array.from({ length: count }, (_, i) => {
    const [user, item, x] = [rng.below(40), rng.below(60), rng.uniform()]
    const click = (user % 2) + (item % 3) / 2 + x + 0.3 * rng.normal() > 1.5 ? 1 : 0
    return `click:${click} sample:${first + i} user:${user} item:${1000 + item} x:${x.toFixed(4)} x:${rng.uniform().toFixed(4)}`
  })
  return `${text.join('\n')}\n`
}
