/** @file Tells the folders that Paddle's parameter servers write from checkpoints. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { tableFolder } from '../table/index.ts'

/** Whether a folder holds text of tables: `000/part-...`. */
export async function isPaddleFolder(folder: string): Promise<boolean> {
  const first = await stat(join(folder, tableFolder(0))).catch(() => undefined)
  return first?.isDirectory() ?? false
}
