/** @file A program cut up for its servers: which blocks each holds, as a program of its own, and how trainers put them together. */

import type { Program as Graph, ProgramParameter, ProgramState } from '../../../graph/program/index.ts'
import type { TracedModel } from '../../../model/index.ts'
import type { WireLayout } from '../../../training/ps/index.ts'
import { denseLayout, initialDense, type Slice } from '../../../weights/params/index.ts'
import type { SplitMethod } from './config.ts'
import { type Block, dealBlocks, drawnBlocks, type SliceOptions, sliceVariable } from './slicing.ts'

export interface PlanOptions extends SliceOptions {
  readonly model: TracedModel
  readonly seed: number
  readonly splitMethod: SplitMethod
  /** Every trainer counts alike in a step, however many samples it has. */
  readonly equalPushes: boolean
}

export interface PlacedBlock extends Block {
  readonly server: number
}

export interface Plan {
  readonly blocks: readonly PlacedBlock[]
  /** What each server holds: blocks as parameters, and every table. */
  readonly graphs: readonly Graph[]
  /** Each server's part of what travels. */
  readonly slices: readonly Slice[]
  readonly wire: WireLayout
  /** First values of what a server holds, as its layout has them. */
  initial(server: number): Float32Array
}

export function planServers(options: PlanOptions): Plan {
  const { model, seed, servers, splitMethod, sliceVarUp, equalPushes } = options
  const { train, optimizer } = model
  const cut = train.parameters
    .filter(({ trainable = true }) => trainable)
    .flatMap(({ name, shape }) => sliceVariable({ name, shape: shape as readonly number[] }, options))
  const ordered = sliceVarUp ? cut : drawnBlocks(cut, seed)
  // Weights that do not learn and statistics stay whole.
  const whole = [...train.parameters.filter(({ trainable = true }) => !trainable), ...train.state].flatMap(
    ({ name, shape }) => sliceVariable({ name, shape: shape as readonly number[] }, { ...options, sliceVarUp: false }),
  )
  const all = [...ordered, ...whole]
  const owners = dealBlocks(all, servers, splitMethod)
  const blocks = all.map((block, i): PlacedBlock => ({ ...block, server: owners[i]! }))
  const graphs = Array.from({ length: servers }, (_, server) =>
    graphOf(
      train,
      blocks.filter((block) => block.server === server),
    ),
  )
  const layouts = graphs.map((graph) => denseLayout(graph, optimizer))
  const starts = [0]
  for (const { floats } of layouts) starts.push(starts.at(-1)! + floats)
  const whereOf = new Map(denseLayout(train, optimizer).entries.map(({ name, at }) => [name, at]))
  const runs = blocks.map(({ name, variable, from, size, server }) => {
    const { at } = layouts[server]!.entries.find((entry) => entry.name === name)!
    return { at: whereOf.get(variable)! + from, wire: starts[server]! + at, size }
  })
  return {
    blocks,
    graphs,
    slices: layouts.map(({ floats }, server) => ({ from: starts[server]!, to: starts[server]! + floats })),
    wire: { floats: starts.at(-1)!, runs, equalPushes },
    initial: (server) => {
      const layout = denseLayout(train, optimizer)
      const values = initialDense(train, layout, seed)
      const own = new Float32Array(layouts[server]!.floats)
      for (const { at, wire, size } of runs) {
        const to = wire - starts[server]!
        if (to >= 0 && to < own.length) own.set(values.subarray(at, at + size), to)
      }
      return own
    },
  }
}

/** A graph without ops: the blocks as parameters and state, and all tables. */
function graphOf({ parameters, state, tables }: Graph, blocks: readonly Block[]): Graph {
  const blocksOf = <T extends ProgramParameter | ProgramState>(item: T): T[] =>
    blocks.filter(({ variable }) => variable === item.name).map(({ name, shape }) => ({ ...item, name, shape }))
  return {
    feeds: [],
    rows: [],
    nodes: [],
    fetches: [],
    tables,
    parameters: parameters.flatMap(blocksOf),
    state: state.flatMap(blocksOf),
  }
}
