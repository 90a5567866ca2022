/** @file What tests of fluid share: a click model, data for it, free ports. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { layers, type optimizer, Program, programGuard, type Variable } from './index.ts'

export interface Clicks {
  readonly main: Program
  readonly startup: Program
  /** In the order of the data, which is not that of the declarations. */
  readonly vars: readonly Variable[]
  readonly predict: Variable
  readonly loss: Variable
  readonly auc: Variable
}

/** A program of its own that learns labels from ids and two values. */
export function clicks(adjust: (own: Program) => optimizer.Optimizer): Clicks {
  const [main, startup] = [new Program(), new Program()]
  const built = programGuard(main, startup, () => {
    const label = layers.data({ name: 'label', shape: [1], dtype: 'int64' })
    const x = layers.data({ name: 'x', shape: [2] })
    const ids = layers.data({ name: 'ids', shape: [1], lodLevel: 1, dtype: 'int64' })
    const emb = layers.embedding({ input: ids, size: [1000, 4], isSparse: true })
    const pooled = layers.sequencePool({ input: emb, poolType: 'average' })
    const predict = layers.fc({ input: layers.concat({ input: [pooled, x], axis: 1 }), size: 2, act: 'softmax' })
    const loss = layers.mean(layers.crossEntropy({ input: predict, label }))
    const [auc] = layers.auc({ input: predict, label })
    adjust(main).minimize(loss)
    return { vars: [x, ids, label], predict, loss, auc }
  })
  return { main, startup, ...built }
}

/** MultiSlot text: two dense values, one to three ids, a label that depends on the first id. Returns the files. */
export function writeParts(folder: string, parts: number, rows: number): string[] {
  mkdirSync(folder, { recursive: true })
  return Array.from({ length: parts }, (_, p) => {
    const lines = Array.from({ length: rows }, (_, i) => {
      const ids = Array.from({ length: 1 + (i % 3) }, (_, k) => (i % 10) + 100 * k)
      return `2 ${(i % 7) / 7} ${p} ${ids.length} ${ids.join(' ')} 1 ${i % 10 < 5 ? 1 : 0}`
    })
    const file = join(folder, `part-${p}`)
    writeFileSync(file, `${lines.join('\n')}\n`)
    return file
  })
}
