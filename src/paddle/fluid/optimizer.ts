/** @file `fluid.optimizer`: minimize settles what a program is trained for, and how. */

import { UserError } from '../../base/util/index.ts'
import { sizeOf } from '../../graph/program/index.ts'
import { type OptimizerSpec, optimizer as specs } from '../../weights/optim/index.ts'
import type { Distributable, FleetRegistry } from '../fleet/index.ts'
import type { Regularizer } from './attr.ts'
import { inferenceWriter } from './inference-model.ts'
import { trainingProgram } from './traced.ts'
import { tensorOf, type Variable } from './variable.ts'

interface Common {
  readonly learningRate: number
  /** Of every parameter without one of its own. */
  readonly regularization?: Regularizer | undefined
}

/** A weight and the name of its gradient. */
export type ParamGrad = readonly [parameter: string, gradient: string]

/** What the optimizers have in common. */
export class Optimizer implements Distributable<Optimizer> {
  readonly spec: OptimizerSpec
  readonly #fleet: FleetRegistry | undefined

  constructor(spec: OptimizerSpec, fleet?: FleetRegistry) {
    this.spec = spec
    this.#fleet = fleet
  }

  /** Settles the loss: from here on, running the program trains it. Returns the weights and their gradients. */
  minimize(loss: Variable): readonly ParamGrad[] {
    const { program } = loss
    checkLoss(loss)
    if (program.minimized)
      throw new UserError(`the program already minimizes "${program.minimized.loss.name}"`, {
        code: 'FLUID_OPTIMIZER',
        hint: 'add the losses up and minimize the sum, or build another program inside fluid.programGuard(...)',
      })
    program.minimized = { loss, optimizer: this.spec }
    if (this.#fleet)
      program.fleet = this.#fleet.register({ ...trainingProgram(program), writeInference: inferenceWriter(program) })
    const { parameters, tables } = program.builder.build({})
    const names = [...parameters.filter(({ trainable = true }) => trainable), ...tables].map(({ name }) => name)
    return names.map((name) => [name, `${name}@GRAD`])
  }

  distributed(fleet: FleetRegistry): Optimizer {
    return new Optimizer(this.spec, fleet)
  }
}

export class SGD extends Optimizer {
  constructor({ learningRate, regularization }: Common) {
    super(specs.sgd({ learningRate, l2: regularization?.l2 }))
  }
}

export class Momentum extends Optimizer {
  constructor({
    learningRate,
    momentum,
    useNesterov: nesterov = false,
    regularization,
  }: Common & { readonly momentum: number; readonly useNesterov?: boolean }) {
    super(specs.momentum({ learningRate, momentum, nesterov, l2: regularization?.l2 }))
  }
}

export class Adagrad extends Optimizer {
  constructor({
    learningRate,
    epsilon = 1e-6,
    initialAccumulatorValue: initialAccumulator = 0,
    regularization,
  }: Common & { readonly epsilon?: number; readonly initialAccumulatorValue?: number }) {
    super(specs.adagrad({ learningRate, epsilon, initialAccumulator, l2: regularization?.l2 }))
  }
}

export interface AdamOptions extends Partial<Common> {
  readonly beta1?: number
  readonly beta2?: number
  readonly epsilon?: number
  /** A table row moves only when its sign is in the batch. @default false */
  readonly lazyMode?: boolean
}

export class Adam extends Optimizer {
  constructor({
    learningRate = 0.001,
    beta1 = 0.9,
    beta2 = 0.999,
    epsilon = 1e-8,
    lazyMode: lazy = false,
    regularization,
  }: AdamOptions = {}) {
    super(specs.adam({ learningRate, beta1, beta2, epsilon, lazy, l2: regularization?.l2 }))
  }
}

function checkLoss(loss: Variable): void {
  const { shape } = tensorOf(loss)
  if (sizeOf(shape) === 1) return
  throw new UserError(`the loss "${loss.name}" has the shape [${loss.shape.join(', ')}]; it must be one number`, {
    code: 'FLUID_OPTIMIZER',
    hint: 'minimize fluid.layers.mean(loss)',
  })
}
