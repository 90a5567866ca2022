/** @file How weights are cut into blocks and dealt out to servers: pure functions that servers and trainers agree on. */
import { createRng, deriveSeed } from '../../../base/util/index.ts'
import type { SplitMethod } from './config.ts'

/** A run of a variable's elements, whole rows of it. */
export interface Block {
  readonly variable: string
  /** `{variable}.block{i}`; the variable's own name where there is only one. */
  readonly name: string
  readonly shape: readonly number[]
  /** Where it begins, in elements. */
  readonly from: number
  readonly size: number
}

export interface SliceOptions {
  readonly servers: number
  readonly minBlockSize: number
  readonly sliceVarUp: boolean
}

/** The blocks of one variable: as many as there are servers, as long as each has minBlockSize elements; whole rows. */
export function sliceVariable(
  { name, shape }: { readonly name: string; readonly shape: readonly number[] },
  { servers, minBlockSize, sliceVarUp }: SliceOptions,
): Block[] {
  const size = shape.reduce((product, dim) => product * dim, 1)
  const row = shape.slice(1).reduce((product, dim) => product * dim, 1)
  const wanted = sliceVarUp ? Math.min(servers, Math.max(1, Math.floor(size / minBlockSize))) : 1
  const each = Math.ceil(Math.ceil(size / wanted) / row) * row
  const count = Math.max(1, Math.ceil(size / each))
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i * each, Math.min(size, (i + 1) * each)]
    return {
      variable: name,
      from,
      size: to - from,
      name: count === 1 ? name : `${name}.block${i}`,
      shape: count === 1 ? shape : [(to - from) / row, ...shape.slice(1)],
    }
  })
}

/** The server of each block. RoundRobin goes on from one variable to the next. */
export function dealBlocks(blocks: readonly Block[], servers: number, method: SplitMethod): number[] {
  const by: { readonly [M in SplitMethod]: (block: Block, i: number) => number } = {
    RoundRobin: (_, i) => i % servers,
    HashName: ({ name }) => hashOf(name) % servers,
  }
  return blocks.map(by[method])
}

/** Whole variables are dealt out in an order drawn from the program's seed, so that large ones do not all come to one server. */
export function drawnBlocks(blocks: readonly Block[], seed: number): Block[] {
  const rng = createRng(deriveSeed(seed, 'transpiler'))
  const drawn = blocks.map((block) => ({ block, key: rng.uniform() }))
  return drawn.sort((a, b) => a.key - b.key).map(({ block }) => block)
}

/** FNV-1a: the same in every process, which Python's own hash is not. */
function hashOf(text: string): number {
  let value = 0x811c9dc5
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193)
  return value >>> 0
}
