/** @file Layers as objects that own their weights: a tree whose paths name them. One tree serves static and dynamic graphs. */

import { UserError } from '../../base/util/index.ts'
import type { Builder, Initializer, ParameterSpec, StateSpec, TableSpec, Tensor } from '../program/index.ts'

/** A weight or a state of a layer. Its values live in the trainer; `on` gives the tensor that stands for them in a graph. */
export class Variable {
  readonly kind: 'parameter' | 'state'
  readonly shape: readonly number[]
  readonly init: Initializer
  readonly #spec: ParameterSpec | StateSpec
  readonly #layer: Layer

  constructor(kind: Variable['kind'], spec: ParameterSpec | StateSpec, layer: Layer) {
    this.kind = kind
    this.shape = spec.shape
    this.init = spec.init
    this.#spec = spec
    this.#layer = layer
  }

  get name(): string {
    return this.#layer.path(this.#spec.name)
  }

  /** The same tensor however often a graph asks, so that a layer called twice shares its weights. */
  on(builder: Builder): Tensor {
    const known = builder.kept.get(this) as Tensor | undefined
    if (known) return known
    const spec = { ...this.#spec, name: this.name }
    const tensor = this.kind === 'state' ? builder.state(spec as StateSpec) : builder.parameter(spec)
    builder.kept.set(this, tensor)
    return tensor
  }
}

/**
 * The base of all layers. A layer adds its weights and the layers inside it when it is constructed, so that they are
 * known before the first step, and uses them in a method `forward`.
 *
 * @example
 * class Tower extends nn.Layer {
 *   readonly #hidden = this.addSublayer('hidden', new nn.Linear({ in: 13, out: 32, activation: 'relu' }))
 *   readonly #out = this.addSublayer('out', new nn.Linear({ in: 32, out: 1 }))
 *   forward(x: Tensor): Tensor {
 *     return this.#out.forward(this.#hidden.forward(x))
 *   }
 * }
 */
export abstract class Layer {
  #parent: { readonly layer: Layer; readonly name: string } | undefined
  #name = ''
  #training = true
  readonly #variables = new Map<string, Variable>()
  readonly #sublayers = new Map<string, Layer>()

  /** Whether this is a step of training: set by `train()` and `eval()`. */
  get training(): boolean {
    return this.#training
  }

  /** A weight named `<path of the layer>.<name>`. */
  addParameter(spec: ParameterSpec): Variable {
    return this.#add(new Variable('parameter', spec, this), spec.name)
  }

  /** A value that steps read and replace, not trained. */
  addState(spec: StateSpec): Variable {
    return this.#add(new Variable('state', spec, this), spec.name)
  }

  /** Puts a layer inside this one; names of its weights begin with `<name>.`. */
  addSublayer<L extends Layer>(name: string, layer: L): L {
    const child: Layer = layer
    this.#claim(name)
    if (child.#parent)
      throw new UserError(`The layer ${child.path()} was added a second time, as ${this.path(name)}.`, {
        code: 'NN_LAYER',
        hint: 'Keep it in one place and call its forward() from both, which shares its weights.',
      })
    child.#parent = { layer: this, name }
    this.#sublayers.set(name, layer)
    return layer
  }

  /**
   * Names a layer that lies in no other one; names of its weights begin with `<name>.`.
   *
   * @example const attention = new nn.AttentionUnit({ width }).named('attention')
   */
  named(name: string): this {
    this.#name = name
    return this
  }

  /** The name of this layer in the whole model, or of something inside it. */
  path(name = ''): string {
    const parts = [this.#parent ? this.#parent.layer.path(this.#parent.name) : this.#name, name]
    return parts.filter(Boolean).join('.')
  }

  /** The layers directly inside this one. */
  sublayers(): readonly Layer[] {
    return [...this.#sublayers.values()]
  }

  /** All weights, of the layers inside too. */
  parameters(): readonly Variable[] {
    return Object.values(this.stateDict()).filter(({ kind }) => kind === 'parameter')
  }

  /** Weights and state by name: what a checkpoint holds, beside the rows of tables. */
  stateDict(): Readonly<Record<string, Variable>> {
    const own = [...this.#variables.values()].map((variable) => [variable.name, variable] as const)
    return Object.assign(Object.fromEntries(own), ...this.sublayers().map((layer) => layer.stateDict()))
  }

  /** The sparse tables, of the layers inside too; those of one name are one table. */
  tables(): readonly TableSpec[] {
    return this.sublayers().flatMap((layer) => layer.tables())
  }

  train(): this {
    return this.#setTraining(true)
  }

  eval(): this {
    return this.#setTraining(false)
  }

  #setTraining(training: boolean): this {
    this.#training = training
    for (const layer of this.#sublayers.values()) layer.#setTraining(training)
    return this
  }

  #add(variable: Variable, name: string): Variable {
    this.#claim(name)
    this.#variables.set(name, variable)
    return variable
  }

  #claim(name: string): void {
    if (!this.#variables.has(name) && !this.#sublayers.has(name)) return
    throw new UserError(`The layer ${this.path() || this.constructor.name} has two parts named "${name}".`, {
      code: 'NN_LAYER',
      hint: 'Give one of them another name.',
    })
  }
}
