/** @file `runner_result_dump_path`: what each batch computed, as one JSON array. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { StepReport } from '../train/index.ts'

export class DumpWriter {
  readonly #path: string
  /** By batch, since threads finish in any order. */
  readonly #rows = new Map<number, string>()

  constructor(path: string) {
    this.#path = path
  }

  add({ index, result }: StepReport): void {
    const { loss, means, fetched = {} } = result
    this.#rows.set(index, JSON.stringify({ loss: [loss], ...means, ...fetched }))
  }

  /** Writes the file; returns its path. */
  async write(): Promise<string> {
    const rows = [...this.#rows.entries()].sort(([a], [b]) => a - b).map(([, row]) => row)
    await mkdir(dirname(this.#path), { recursive: true })
    await writeFile(this.#path, `[${rows.join(',\n')}]\n`)
    return this.#path
  }
}
