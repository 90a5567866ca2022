/** @file Initializers, regularizers and ParamAttr: how weights begin and are held back. */
import type { Initializer } from '../../../graph/program/index.ts'
import { Unported } from '../session.ts'
import { type AttributesValue, type Expr, said } from '../value.ts'
import { type Args, type CallRow, given, numberOf, objectText, row, type Translate } from './row.ts'

type Part = readonly [name: string, usual: number]

/** An initializer whose parts are numbers; `names` are Paddle's and ours, with Paddle's defaults. */
function initializer(kind: Initializer['kind'], parts: Readonly<Record<string, Part>>): Translate {
  return (_scope, args) => {
    const own = Object.entries(parts).map(([ours, [paddles, usual]]) => {
      const typed = given(args[paddles])
      return { ours, value: typed ? numberOf(typed) : usual, text: typed?.text ?? String(usual) }
    })
    const init = Object.fromEntries([
      ['kind', kind],
      ...own.map(({ ours, value }) => [ours, value]),
    ]) as unknown as Initializer
    const text = objectText(Object.fromEntries([['kind', `'${kind}'`], ...own.map(({ ours, text }) => [ours, text])]))
    return { value: { kind: 'initializer', init }, text, atom: true }
  }
}

/** Paddle's fans of a matrix are those of the house; a fan that is given, or another gain, is not. */
function byFans(kind: Initializer['kind']): Translate {
  return (scope, args, node) => {
    const own = ['fan_in', 'fan_out'].find((name) => given(args[name]))
    if (own) throw new Unported(`an initializer with ${own}`)
    if (
      args['nonlinearity'] &&
      (args['nonlinearity'].value.kind !== 'string' || args['nonlinearity'].value.value !== 'relu')
    )
      throw new Unported('an initializer with nonlinearity')
    return initializer(kind, {})(scope, args, node)
  }
}

const attributes: Translate = (_scope, args) => {
  const value: AttributesValue = {
    kind: 'attributes',
    init: given(args['initializer']),
    l2: given(args['regularizer']),
    learningRate: given(args['learning_rate']),
    trainable: given(args['trainable']),
  }
  if (given(args['need_clip']) && !isTrue(args['need_clip'])) throw new Unported('ParamAttr with need_clip=False')
  return { value, text: '' }
}

const isTrue = (expr: Expr | undefined) => expr?.value.kind === 'boolean' && expr.value.value

const I = 'paddle.nn.initializer.'
const both = (name: string, old = name) => `${I}${name} paddle.fluid.initializer.${old}`

export const WEIGHT_ROWS: readonly CallRow[] = [
  row(both('Constant'), 'value', "{ kind: 'constant', value }", initializer('constant', { value: ['value', 0] })),
  row(
    both('Normal'),
    'mean std name',
    "{ kind: 'normal', mean, std }",
    initializer('normal', { mean: ['mean', 0], std: ['std', 1] }),
  ),
  row(
    both('TruncatedNormal'),
    'mean std name',
    "{ kind: 'truncated_normal', mean, std }",
    initializer('truncated_normal', { mean: ['mean', 0], std: ['std', 1] }),
  ),
  row(
    both('Uniform'),
    'low high name',
    "{ kind: 'uniform', low, high }",
    initializer('uniform', { low: ['low', -1], high: ['high', 1] }),
  ),
  row(both('XavierUniform'), 'fan_in fan_out name', "{ kind: 'xavier_uniform' }", byFans('xavier_uniform')),
  row(both('XavierNormal'), 'fan_in fan_out name', "{ kind: 'xavier_normal' }", byFans('xavier_normal')),
  row(
    both('KaimingUniform'),
    'fan_in negative_slope nonlinearity',
    "{ kind: 'kaiming_uniform' }",
    byFans('kaiming_uniform'),
  ),
  row(
    both('KaimingNormal'),
    'fan_in negative_slope nonlinearity',
    "{ kind: 'kaiming_normal' }",
    byFans('kaiming_normal'),
  ),
  row('paddle.regularizer.L2Decay', 'coeff', 'l2 of the weight, or of the optimizer', (_scope, args) => {
    const own = given(args['coeff'])
    return { value: { kind: 'regularizer', l2: own ? numberOf(own) : 0 }, text: own?.text ?? '0' }
  }),
  row(
    'paddle.ParamAttr',
    'name initializer learning_rate regularizer trainable do_model_average need_clip',
    'init, l2, learningRate and trainable of the weight',
    attributes,
  ),
]

export interface WeightParts {
  readonly init: Initializer | undefined
  /** As options of a layer of the house. */
  readonly texts: { readonly init: string | undefined; readonly l2: string | undefined }
  readonly rate: string | undefined
  readonly trainable: string | undefined
}

/** What `weight_attr=` says: nothing, an initializer, or a ParamAttr. */
export function weightParts(attr: Expr | undefined): WeightParts {
  const value = given(attr)?.value
  if (!value || (value.kind === 'boolean' && value.value))
    return { init: undefined, texts: { init: undefined, l2: undefined }, rate: undefined, trainable: undefined }
  if (value.kind === 'initializer')
    return { init: value.init, texts: { init: attr!.text, l2: undefined }, rate: undefined, trainable: undefined }
  if (value.kind !== 'attributes') throw new Unported(`weights by ${said(value)}`)
  const init = value.init
  if (init && init.value.kind !== 'initializer') throw new Unported('an initializer that was not translated')
  if (value.l2 && value.l2.value.kind !== 'regularizer') throw new Unported('a regularizer that was not translated')
  return {
    init: init?.value.kind === 'initializer' ? init.value.init : undefined,
    texts: { init: init?.text, l2: value.l2?.text },
    rate: value.learningRate && numberOf(value.learningRate) !== 1 ? value.learningRate.text : undefined,
    trainable: value.trainable && !isTrue(value.trainable) ? value.trainable.text : undefined,
  }
}

/** A layer of the house takes init and l2 of its weight, and no rate of its own. */
export function plainParts(args: Args, name: string): WeightParts {
  const parts = weightParts(args[name])
  if (parts.rate ?? parts.trainable) throw new Unported(`${name} with a learning rate of its own, or trainable=False`)
  return parts
}
