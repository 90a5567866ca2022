/** @file `epochs.json` in model_save_path: what every epoch of a run measured and which was the best, where the config asks to keep it. */
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { EpochRecord } from '../../base/event/index.ts'
import { readSmallText } from '../../base/fs/index.ts'
import { damaged } from './errors.ts'

const EPOCHS = 'epochs.json'

/** JSON has no NaN and writes null for it. */
const metrics = z.record(
  z.string(),
  z
    .number()
    .nullable()
    .transform((value) => value ?? Number.NaN),
)

const content = z.object({
  best: z.object({ epoch: z.int(), metric: z.string(), value: z.number() }).nullable(),
  epochs: z.array(z.object({ epoch: z.int(), train: metrics, test: metrics.optional() })),
})

export interface EpochsFile {
  readonly best: Best | null
  readonly epochs: readonly EpochRecord[]
}

/** The best epoch so far, and by what. */
export interface Best {
  readonly epoch: number
  readonly metric: string
  readonly value: number
}

/** Undefined where there is none. */
export async function readEpochs(path: string): Promise<EpochsFile | undefined> {
  const file = join(path, EPOCHS)
  const text = await readSmallText(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    return content.parse(JSON.parse(text))
  } catch {
    throw damaged(file, 'it is not what training writes; delete it to begin a new record')
  }
}

/** Whole or not at all, also when the process is killed meanwhile. */
export async function writeEpochs(path: string, file: EpochsFile): Promise<void> {
  const aside = join(path, `.${EPOCHS}.${process.pid}`)
  await writeFile(aside, `${JSON.stringify(file, null, 2)}\n`)
  await rename(aside, join(path, EPOCHS))
}

/** Another run begins in this folder. */
export async function removeEpochs(path: string): Promise<void> {
  await rm(join(path, EPOCHS), { force: true })
}
