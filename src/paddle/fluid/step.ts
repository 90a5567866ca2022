/** @file One program compiled for one list of fetches: what Executor.run runs. */

import type { Slot } from '../../data/index.ts'
import { backward, inference } from '../../graph/autodiff/index.ts'
import { ortEngine } from '../../graph/engine/index.ts'
import { cast, type Program as Graph, type Tensor } from '../../graph/program/index.ts'
import { HostStep, hostGraph, showClickTables } from '../../training/step/index.ts'
import { type DenseLayout, denseLayout, type Params } from '../../weights/params/index.ts'
import type { Placement } from '../../weights/table/index.ts'
import type { Program } from './program.ts'
import { aucMeasures, aucSpec, scalar, slotsOf } from './traced.ts'
import { type AucMeasure, tensorOf, type Variable } from './variable.ts'
import { SEGMENTS } from './weights.ts'

/** How a run treats weights: training updates them; computing leaves them, with or without what only training does (dropout). */
export type RunKind = 'train' | 'compute' | 'test'

/** Where a step's weights are. */
export interface StepWeights {
  readonly params: Params
  readonly layout: DenseLayout
  readonly placement?: Placement | undefined
}

export interface FluidStep {
  readonly version: number
  readonly slots: readonly Slot[]
  readonly host: HostStep
}

export const fetchName = ({ name }: Variable): string => `fetch:${name}`

export async function compileStep(
  program: Program,
  fetchList: readonly Variable[],
  kind: RunKind,
  { params, layout, placement }: StepWeights,
): Promise<FluidStep> {
  // Training measures everything, whether or not it is fetched: an AUC runs over all batches.
  const measures = aucMeasures(program).filter((one) => kind === 'train' || fetched(fetchList, one))
  const metrics = measures.map(aucSpec)
  const graph = graphOf(program, fetchList, measures, kind)
  const session = await ortEngine().compile(graph)
  const needed = neededData(graph, kind)
  const slots = slotsOf(program.data.filter(({ name }) => needed.has(name)))
  const training = kind === 'train'
  const host = new HostStep({
    program: graph,
    graph: hostGraph(session),
    params,
    slots,
    metrics,
    layout,
    placement,
    training,
    segments: SEGMENTS,
    batchSize: 1,
    seed: program.randomSeed,
    clip: program.minimized?.optimizer.clip,
    showClick: showClickTables(graph.tables, program.fleet?.tableParameters ?? {}, slots),
  })
  return { version: program.version, slots, host }
}

/** The layout of a program's dense weights: the same for whatever is fetched of it. */
export function layoutOf(program: Program): DenseLayout {
  const optimizer = program.minimized?.optimizer ?? { kind: 'sgd', learningRate: 0 }
  return denseLayout(program.builder.build({}), optimizer)
}

function graphOf(
  program: Program,
  fetchList: readonly Variable[],
  measures: readonly AucMeasure[],
  kind: RunKind,
): Graph {
  const { builder, minimized } = program
  const loss: Record<string, Tensor> = minimized ? { loss: scalar(tensorOf(minimized.loss)) } : {}
  const wanted = fetchList.filter(({ source }) => source.kind !== 'auc')
  const fetches = {
    ...loss,
    ...aucFetches(measures),
    ...Object.fromEntries(wanted.map((v) => [fetchName(v), tensorOf(v)])),
  }
  if (kind === 'train') return backward(builder.build(fetches), 'loss')
  const names = Object.keys(fetches).filter((name) => name !== 'loss')
  const graph = inference(builder.build(fetches), names, kind === 'test' ? 'inference' : 'training')
  // Tables are known by their number, so those that this graph does not look up keep their places.
  return { ...graph, tables: builder.build({}).tables }
}

function fetched(fetchList: readonly Variable[], measure: AucMeasure): boolean {
  return fetchList.some(({ source }) => source.kind === 'auc' && source.measure === measure)
}

function aucFetches(measures: readonly AucMeasure[]): Record<string, Tensor> {
  const entries = measures.flatMap((measure) => {
    const { prediction, label } = aucSpec(measure)
    return [
      [prediction, tensorOf(measure.prediction)] as const,
      [label, cast(tensorOf(measure.label), 'float32')] as const,
    ]
  })
  return Object.fromEntries(entries)
}

/** Names of the data that a graph computes with, and of what tables count as show and click. */
function neededData({ feeds, rows, nodes, fetches, tables }: Graph, kind: RunKind): ReadonlySet<string> {
  const used = new Set([...nodes.flatMap(({ inputs }) => inputs), ...fetches.map(({ value }) => value)])
  const fed = feeds.filter(({ value }) => used.has(value)).map(({ name }) => name)
  const counted =
    kind === 'train'
      ? tables.flatMap(({ entry }) => (entry?.kind === 'show_click' ? [entry.show, entry.click] : []))
      : []
  return new Set([...fed, ...counted, ...rows.flatMap(({ slots }) => slots)])
}
