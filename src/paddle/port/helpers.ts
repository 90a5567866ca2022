/** @file The small functions and classes that a draft brings along, each only where it is used. */
import type { Helper } from './session.ts'

export const HELPERS: Readonly<Record<Helper, string>> = {
  range: `/** Python's range(from, to) as an array. */
const range = (from: number, to: number): number[] => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)`,

  lookup: `/** Rows of slots as paddle.nn.Embedding gives them: [B, slots, dim]. */
function lookup(table: nn.Embedding, slots: nn.SparseSlot | readonly nn.SparseSlot[]): nn.Tensor {
  const count = [slots].flat().length
  const rows = table.forward(slots)
  return nn.reshape(rows, [-1, count, Number(rows.shape[1]) / count])
}`,

  Apply: `/** A function as a layer, as paddle.nn.ReLU is. */
class Apply extends nn.Layer {
  readonly forward: (x: nn.Tensor) => nn.Tensor

  constructor(forward: (x: nn.Tensor) => nn.Tensor) {
    super()
    this.forward = forward
  }
}`,

  Sequential: `/** Layers one after the other; their names are 0, 1, ... */
class Sequential extends nn.Layer {
  readonly list: readonly (nn.Layer & { forward(x: nn.Tensor): nn.Tensor })[]

  constructor(...layers: readonly (nn.Layer & { forward(x: nn.Tensor): nn.Tensor })[]) {
    super()
    this.list = layers.map((layer, i) => this.addSublayer(String(i), layer))
  }

  forward(x: nn.Tensor): nn.Tensor {
    return this.list.reduce((y, layer) => layer.forward(y), x)
  }
}`,

  LayerList: `/** A list of layers; their names are 0, 1, ... */
class LayerList<L extends nn.Layer> extends nn.Layer {
  readonly list: L[] = []

  constructor(...layers: readonly L[]) {
    super()
    for (const layer of layers) this.push(layer)
  }

  push(layer: L): void {
    this.list.push(this.addSublayer(String(this.list.length), layer))
  }
}`,

  DenseEmbedding: `/** Rows of an ordinary weight by ids of any shape: [..., dim]. Rows of the id \`padding\` are zero. */
class DenseEmbedding extends nn.Layer {
  readonly weight: nn.Variable
  readonly padding: number | undefined

  constructor(options: { size: number; dim: number; init: nn.Initializer; padding?: number; l2?: number }) {
    super()
    const { size, dim, init, padding, l2 } = options
    this.weight = this.addParameter({ name: 'weight', shape: [size, dim], init, l2 })
    this.padding = padding
  }

  forward(ids: nn.Tensor): nn.Tensor {
    const rows = nn.gather(this.weight.on(ids.builder), nn.cast(ids, 'int64'))
    if (this.padding === undefined) return rows
    return nn.mul(rows, nn.unsqueeze(nn.cast(nn.notEqual(ids, this.padding), 'float32'), -1))
  }
}`,

  unported: `/** Stands for what was not translated: it stops where the line of Python would have been computed. */
function unported<T>(line: string): T {
  throw new Error(\`not translated yet: \${line}\`)
}`,
}
