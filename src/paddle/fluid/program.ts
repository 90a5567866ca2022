/** @file A fluid program: a graph that layers append to one by one, and what it is trained with. */

import type { EventSink } from '../../base/event/index.ts'
import { UserError } from '../../base/util/index.ts'
import { backward } from '../../graph/autodiff/index.ts'
import {
  Builder,
  type EntryPolicy,
  type Initializer,
  type ParameterSpec,
  printProgram,
  type Tensor,
} from '../../graph/program/index.ts'
import type { OptimizerSpec } from '../../weights/optim/index.ts'
import type { FleetProgram } from '../fleet/index.ts'
import { scalar } from './traced.ts'
import { tensorOf, type Variable } from './variable.ts'
import type { Weights } from './weights.ts'

/** What minimize has settled. */
export interface Minimized {
  readonly loss: Variable
  readonly optimizer: OptimizerSpec
}

/** What a table was declared with. */
export interface TableOptions {
  /** Rows it was declared with; a table takes any number. */
  readonly rows: number
  readonly dim: number
  readonly init: Initializer
  readonly l2?: number | undefined
  readonly learningRate?: number | undefined
  /** Which signs get a row, and where show and click come from. */
  readonly entry?: EntryPolicy | undefined
}

export interface TranspiledProgram {
  readonly lines: readonly string[]
  start(emit: EventSink): Promise<void>
  close(): Promise<void>
}

/** A program under construction, and what was trained of it. */
export class Program {
  /** Of initial weights, new rows and dropout. */
  randomSeed = 12345
  readonly builder = new Builder()
  /** A startup program: running it gives this program its first weights. */
  startsUp: Program | undefined
  minimized: Minimized | undefined
  /** Set when fleet or a transpiler distributes the program. */
  fleet: FleetProgram | undefined
  /** Set by a transpiler: what a trainer does at its start and its end, and what its program says of gradients. */
  transpiled: TranspiledProgram | undefined
  weights: Weights | undefined
  readonly tables = new Map<string, TableOptions>()
  readonly #variables: Variable[] = []
  readonly #names = new Map<string, number>()
  readonly #parameters = new Map<string, { readonly tensor: Tensor; readonly options: ParameterSpec }>()

  /** `fc_0`, `fc_1`, ... */
  uniqueName(kind: string): string {
    const number = this.#names.get(kind) ?? 0
    this.#names.set(kind, number + 1)
    return `${kind}_${number}`
  }

  add(variable: Variable): Variable {
    this.#variables.push(variable)
    return variable
  }

  get variables(): readonly Variable[] {
    return this.#variables
  }

  /** Grows with every layer: what was compiled for an older one is out of date. */
  get version(): number {
    return this.#variables.length
  }

  /** The data in the order of its declaration. */
  get data(): readonly Variable[] {
    return this.#variables.filter(({ source }) => source.kind === 'data')
  }

  variable(name: string): Variable | undefined {
    return this.#variables.find((variable) => variable.name === name)
  }

  /** A weight; the same name again is the same weight. */
  parameter(options: ParameterSpec): Tensor {
    const known = this.#parameters.get(options.name)
    if (!known) {
      const tensor = this.builder.parameter(options)
      this.#parameters.set(options.name, { tensor, options })
      return tensor
    }
    if (known.options.shape.join() === options.shape.join()) return known.tensor
    throw new UserError(
      `parameter "${options.name}" is shared by layers that want it as [${known.options.shape}] and as [${options.shape}]`,
      { code: 'FLUID_PARAMETER', hint: 'give one of them another name in its paramAttr' },
    )
  }

  /** What every lookup of a table says about it. */
  tableSpec(table: string): Pick<TableOptions, 'init' | 'entry'> {
    const { init, entry } = this.tables.get(table)!
    return { init, entry }
  }

  /** The program to test with: it shares the weights, and nothing is trained. */
  clone(_: { readonly forTest: true }): TestProgram {
    return new TestProgram(this)
  }

  /** The program as text: data, parameters, ops, and what happens to the gradients. */
  toString(): string {
    const { builder, minimized, transpiled } = this
    const graph = minimized
      ? backward(builder.build({ loss: scalar(tensorOf(minimized.loss)) }), 'loss')
      : builder.build({})
    const { kind } = minimized?.optimizer ?? {}
    const updated = [...graph.parameters.filter(({ trainable = true }) => trainable), ...graph.tables]
    const updates = kind ? updated.map(({ name }) => `${kind}(${name}, ${name}@GRAD)`) : []
    // What a transpiler sends and receives takes the place of the optimizer's ops.
    return [printProgram(graph), ...(transpiled?.lines ?? updates)].join('\n')
  }
}

/** A program run to test it: no gradients, nothing updated, dropout off. It shares the weights of the one it was made from. */
export class TestProgram {
  readonly of: Program

  constructor(of: Program) {
    this.of = of
  }
}

/** The programs that layers append to; the original has them per process, and so have we. */
const current = startPrograms()

/** The program that layers are added to. */
export function defaultMainProgram(): Program {
  return current.main
}

/** The program that makes first weights. */
export function defaultStartupProgram(): Program {
  return current.startup
}

/** Layers called in `body` append to these programs instead of the default ones. */
export function programGuard<T>(main: Program, startup: Program, body: () => T): T {
  const before = { ...current }
  startup.startsUp = main
  Object.assign(current, { main, startup })
  try {
    return body()
  } finally {
    Object.assign(current, before)
  }
}

function startPrograms(): { main: Program; startup: Program } {
  const [main, startup] = [new Program(), new Program()]
  startup.startsUp = main
  return { main, startup }
}
