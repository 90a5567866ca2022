/** @file Optimizers as plain data, and what each asks of a kernel. The rules themselves are in assembly/rules.ts. */
import type { KernelRule } from '../../base/kernel/index.ts'
import { namesOf } from '../../base/util/index.ts'
import { checkOptions, type OptionType } from './options.ts'
import { type Schedule, scheduledRate } from './schedule.ts'

interface Common {
  readonly learningRate: number
  readonly schedule?: Schedule
  /** L2 regularization: adds l2 * weight to the gradient. A parameter's own l2 wins. */
  readonly l2?: number | undefined
  readonly clip?: Clip
}

/** How gradients are limited before they are applied. */
export type Clip =
  | { readonly kind: 'value'; readonly max: number; readonly min?: number }
  | { readonly kind: 'norm'; readonly max: number }
  | { readonly kind: 'global_norm'; readonly max: number }

/** An optimizer as plain data; made by the functions of `optimizer`. */
export type OptimizerSpec =
  | (Common & { readonly kind: 'sgd' })
  | (Common & { readonly kind: 'momentum'; readonly momentum: number; readonly nesterov: boolean })
  | (Common & { readonly kind: 'adagrad'; readonly epsilon: number; readonly initialAccumulator: number })
  | (Common & {
      readonly kind: 'rmsprop'
      readonly rho: number
      readonly epsilon: number
      readonly momentum: number
      readonly centered: boolean
    })
  /** `lazy`: a table row moves only when its sign is in the batch. Otherwise missed steps are made up when it is next read. */
  | (Common & {
      readonly kind: 'adam'
      readonly beta1: number
      readonly beta2: number
      readonly epsilon: number
      readonly lazy: boolean
    })
  | (Common & {
      readonly kind: 'ftrl'
      readonly l1: number
      readonly l2Proximal: number
      readonly initialAccumulator: number
    })

export type OptimizerKind = OptimizerSpec['kind']
type Spec<K extends OptimizerKind> = Extract<OptimizerSpec, { kind: K }>
type Options<K extends OptimizerKind> = Omit<Partial<Spec<K>>, 'kind'>

/** What each optimizer is without options: Paddle's defaults. */
const DEFAULTS: { readonly [K in OptimizerKind]: Spec<K> } = {
  sgd: { kind: 'sgd', learningRate: 0.001 },
  momentum: { kind: 'momentum', learningRate: 0.001, momentum: 0.9, nesterov: false },
  adagrad: { kind: 'adagrad', learningRate: 0.001, epsilon: 1e-6, initialAccumulator: 0 },
  rmsprop: { kind: 'rmsprop', learningRate: 0.001, rho: 0.95, epsilon: 1e-6, momentum: 0, centered: false },
  adam: { kind: 'adam', learningRate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, lazy: false },
  ftrl: { kind: 'ftrl', learningRate: 0.001, l1: 0, l2Proximal: 0, initialAccumulator: 0 },
}

/** What every optimizer may be given besides. */
const COMMON: Readonly<Record<keyof Common, OptionType>> = {
  learningRate: 'number',
  schedule: 'schedule',
  l2: 'number',
  clip: 'clip',
}

function specOf<K extends OptimizerKind>(kind: K, options: Options<K>): Spec<K> {
  const { kind: _, ...own } = DEFAULTS[kind]
  const types = Object.entries(own).map(([name, value]) => [name, typeof value as 'number' | 'boolean'] as const)
  checkOptions(`optimizer.${kind}`, options, { ...Object.fromEntries(types), ...COMMON })
  return { ...DEFAULTS[kind], ...options }
}

/**
 * Constructors of optimizers, with Paddle's defaults.
 *
 * @example optimizer.adam({ learningRate: 0.01, lazy: true })
 */
export const optimizer = namesOf('optimizer', {
  /** Stochastic gradient descent. */
  sgd: (options: Options<'sgd'> = {}): Spec<'sgd'> => specOf('sgd', options),
  /** Gradient descent with momentum, Nesterov’s where asked for. */
  momentum: (options: Options<'momentum'> = {}): Spec<'momentum'> => specOf('momentum', options),
  /** Adagrad: rates that fall with the sum of squared gradients. */
  adagrad: (options: Options<'adagrad'> = {}): Spec<'adagrad'> => specOf('adagrad', options),
  /** RMSProp: rates by a running mean of squared gradients. */
  rmsprop: (options: Options<'rmsprop'> = {}): Spec<'rmsprop'> => specOf('rmsprop', options),
  /** Adam; `lazy` moves a table row only when its sign is in the batch. */
  adam: (options: Options<'adam'> = {}): Spec<'adam'> => specOf('adam', options),
  /** FTRL-proximal, which makes sparse weights with `l1`. */
  ftrl: (options: Options<'ftrl'> = {}): Spec<'ftrl'> => specOf('ftrl', options),
} as const)

/** The kernel's view of an optimizer: rule number's constants and how much state a weight carries. */
export function kernelRule(spec: OptimizerSpec): KernelRule {
  const rule = KERNEL_RULES[spec.kind] as (spec: OptimizerSpec) => Partial<KernelRule>
  return { rule: spec.kind, a: 0, b: 0, c: 0, flags: 0, states: 0, stateInit: 0, clocked: false, ...rule(spec) }
}

const KERNEL_RULES: { readonly [K in OptimizerKind]: (spec: Spec<K>) => Partial<KernelRule> } = {
  sgd: () => ({}),
  momentum: ({ momentum, nesterov }) => ({ a: momentum, flags: nesterov ? 1 : 0, states: 1 }),
  adagrad: ({ epsilon, initialAccumulator }) => ({ a: epsilon, states: 1, stateInit: initialAccumulator }),
  rmsprop: ({ rho, epsilon, momentum, centered }) => ({
    a: rho,
    b: epsilon,
    c: momentum,
    flags: centered ? 1 : 0,
    states: centered ? 3 : 2,
  }),
  adam: ({ beta1, beta2, epsilon, lazy }) => ({ a: beta1, b: beta2, c: epsilon, states: 2, clocked: !lazy }),
  ftrl: ({ l1, l2Proximal, initialAccumulator }) => ({
    a: l1,
    b: l2Proximal,
    states: 2,
    stateInit: initialAccumulator,
  }),
}

/** What a kernel needs for one step: the rate (Adam's with its bias correction) and Adam's corrected epsilon. */
export interface StepFactors {
  readonly step: number
  /** The scheduled rate before any correction. */
  readonly baseRate: number
  readonly rate: number
  readonly aux: number
}

/**
 * Factors of step `step`, counted from 1: one count shared by all threads, or Adam's correction runs late in each of them.
 * `seen`: the steps that Adam's moments have seen, where others make steps of the same count with moments of their own.
 */
export function stepFactors(spec: OptimizerSpec, step: number, seen = step): StepFactors {
  const baseRate = scheduledRate(spec.learningRate, spec.schedule ?? { kind: 'constant' }, step - 1)
  if (spec.kind !== 'adam') return { step, baseRate, rate: baseRate, aux: 0 }
  const root = Math.sqrt(1 - spec.beta2 ** seen)
  return { step, baseRate, rate: (baseRate * root) / (1 - spec.beta1 ** seen), aux: spec.epsilon * root }
}
