/** @file Paddle's layers: what is made of them, and what a call of one gives. */

import { UserError } from '../../../base/util/index.ts'
import { BatchNorm, Dropout, Embedding, type Layer, LayerNorm, Linear } from '../../../graph/nn/index.ts'
import { cast, gather, reshape as shaped, type Tensor } from '../../../graph/program/index.ts'
import type { Call } from '../ast.ts'
import { asTensors, house, operandText, plain, type Scope, symbolOf } from '../house.ts'
import { Again, Unported } from '../session.ts'
import { type Expr, type LayerValue, said, tensorOf, UNKNOWN } from '../value.ts'
import { type CallRow, given, need, numberOf, objectText, row, type Translate } from './row.ts'
import { plainParts } from './weights.ts'

interface Unary extends Layer {
  forward(x: Tensor): Tensor
}

/** A layer of the house that is made of numbers and called with one tensor. */
export function made(
  scope: Scope,
  type: string,
  options: string,
  layer: Unary,
  check: (x: Tensor) => void = () => undefined,
): Expr {
  layer.named(scope.session.unique())
  const forward = (x: Expr): Expr => {
    operandText(scope, x)
    const own = symbolOf(x.value)
    if (!own) return { value: UNKNOWN, text: '' }
    check(own)
    return { value: tensorOf(guarded(() => layer.forward(own))), text: '' }
  }
  const value: LayerValue = { kind: 'layer', type, forward, added: false, layer }
  return { value, text: `new ${type}(${options})`, atom: true }
}

function guarded<T>(compute: () => T): T {
  try {
    return compute()
  } catch (error) {
    if (error instanceof UserError) throw new Unported(error.message)
    throw error
  }
}

const linear: Translate = (scope, args) => {
  const [width, out] = [need(args, 'in_features'), need(args, 'out_features')]
  const weight = plainParts(args, 'weight_attr')
  const noBias = args['bias_attr']?.value.kind === 'boolean' && !args['bias_attr'].value.value
  const bias = noBias ? undefined : plainParts(args, 'bias_attr')
  if (bias?.texts.l2) throw new Unported('a regularizer of a bias')
  const options = objectText({
    in: width.text,
    out: out.text,
    ...weight.texts,
    biasInit: noBias ? 'false' : bias?.texts.init,
  })
  const layer = new Linear({
    in: numberOf(width),
    out: numberOf(out),
    init: weight.init,
    biasInit: noBias ? false : bias?.init,
  })
  return made(scope, 'nn.Linear', options, layer)
}

/** Rows of a table by ids of slots; where ids are computed with, an ordinary weight. */
const embedding: Translate = (scope, args, node) => {
  const [size, dim] = [need(args, 'num_embeddings'), need(args, 'embedding_dim')]
  const parts = plainParts(args, 'weight_attr')
  const padding = given(args['padding_idx'])
  // Paddle's own: Xavier's over the whole matrix, which a row of a table does not know
  const limit = `Math.sqrt(6 / (${size.text} + ${dim.text}))`
  const whole = `{ kind: 'uniform', low: -${limit}, high: ${limit} }`
  const init = parts.texts.init ?? whole
  if (scope.session.kinds.dense.has(node))
    return denseEmbedding(scope, { size, dim, init, padding, l2: parts.texts.l2 }, numberOf(size), numberOf(dim))
  if (parts.texts.l2)
    throw new Unported('a regularizer of a table: optimizer.adam({ l2 }) of that table is the place for it')
  // Whoever begins by the size of the matrix must know it.
  if (!parts.init || parts.init.kind.startsWith('xavier')) numberOf(size)
  const own = ofTable(parts.init?.kind, init, whole, `${size.text} + ${dim.text}`)
  if (padding) scope.session.notes.add(PADDING(padding.text))
  const layer = new Embedding({ dim: numberOf(dim) }).named(scope.session.unique())
  const forward = (x: Expr): Expr => rowsOf(scope, node, layer, x, numberOf(dim))
  const value: LayerValue = { kind: 'layer', type: 'nn.Embedding', forward, added: false, layer }
  return { value, text: `new nn.Embedding(${objectText({ dim: dim.text, init: own })})`, atom: true }
}

/** Fans of a table's rows are not those of Paddle's matrix: what depends on them is written out. */
function ofTable(kind: string | undefined, init: string, whole: string, fans: string): string {
  if (kind === 'xavier_uniform') return whole
  if (kind === 'xavier_normal') return `{ kind: 'normal', mean: 0, std: Math.sqrt(2 / (${fans})) }`
  if (kind?.startsWith('kaiming')) throw new Unported('a table that begins as Kaiming has it')
  return init
}

const PADDING = (id: string) =>
  `padding_idx=${id}: a table has no sign whose row stays zero; a sample without the slot gets zeros here, so let the reader leave out sign ${id}`

function rowsOf(scope: Scope, node: Call, layer: Embedding, { value, text }: Expr, dim: number): Expr {
  if (value.kind === 'slots') {
    scope.session.help('lookup')
    const rows = shaped(layer.forward(value.slots), [-1, value.slots.length, dim])
    return { value: tensorOf(rows), text: `lookup($, ${text})` }
  }
  if (value.kind !== 'tensor') throw new Unported(`rows of ${said(value)}`)
  scope.session.kinds.dense.add(node)
  throw new Again()
}

function denseEmbedding(
  scope: Scope,
  texts: Readonly<Record<'size' | 'dim', Expr>> & { init: string; padding: Expr | undefined; l2: string | undefined },
  size: number,
  dim: number,
): Expr {
  scope.session.help('DenseEmbedding')
  const weight = scope.session.builder.parameter({
    name: scope.session.unique(),
    shape: [size, dim],
    init: { kind: 'zeros' },
  })
  const forward = (x: Expr): Expr => {
    asTensors(scope, [x.value])
    const ids = symbolOf(x.value)
    if (!ids) return { value: UNKNOWN, text: '' }
    return {
      value: tensorOf(guarded(() => gather(weight, ids.dtype === 'int64' ? ids : cast(ids, 'int64')))),
      text: '',
    }
  }
  const { size: rows, dim: width, init, padding, l2 } = texts
  const options = objectText({ size: rows.text, dim: width.text, init, padding: padding?.text, l2 })
  return {
    value: { kind: 'layer', type: 'DenseEmbedding', forward, added: false },
    text: `new DenseEmbedding(${options})`,
    atom: true,
  }
}

const dropout: Translate = (scope, args) => {
  const rate = given(args['p'])
  if (given(args['axis']) || (given(args['mode']) && plain(args['mode']!.value) !== 'upscale_in_train'))
    throw new Unported('dropout with axis or mode')
  return made(scope, 'nn.Dropout', objectText({ rate: rate?.text }), new Dropout({ rate: rate && numberOf(rate) }))
}

const norm =
  (type: 'nn.BatchNorm' | 'nn.LayerNorm', widthName: string): Translate =>
  (scope, args) => {
    const width = need(args, widthName)
    const own =
      width.value.kind === 'list' && width.value.items.length === 1
        ? { value: width.value.items[0]!, text: width.text.slice(1, -1) }
        : width
    for (const name of ['weight_attr', 'bias_attr', 'param_attr', 'act'])
      if (given(args[name])) throw new Unported(`a norm with ${name}`)
    const [epsilon, momentum] = [given(args['epsilon']), given(args['momentum'])]
    const options = objectText({ width: own.text, epsilon: epsilon?.text, momentum: momentum?.text })
    const batch = type === 'nn.BatchNorm'
    const common = { width: numberOf(own), epsilon: epsilon && numberOf(epsilon) }
    const layer = batch ? new BatchNorm({ ...common, momentum: momentum && numberOf(momentum) }) : new LayerNorm(common)
    return made(scope, type, options, layer, (x) => {
      if (batch && x.shape.length !== 2)
        throw new Unported('batch norm of more than two axes: Paddle norms the second, nn.BatchNorm the last')
    })
  }

/** A function as a layer, as paddle.nn.ReLU is. */
function activation(names: string, name: string, params = 'name', argument?: string): CallRow {
  return row(names, params, `a layer that applies nn.${name}`, (scope, args) => {
    scope.session.help('Apply')
    const own = argument ? given(args[argument]) : undefined
    const forward = (x: Expr): Expr => ({ value: house(scope, name, x, own).value, text: '' })
    const text = own ? `new Apply((x) => nn.${name}(x, ${own.text}))` : `new Apply((x) => nn.${name}(x))`
    return { value: { kind: 'layer', type: 'Apply', forward, added: false }, text, atom: true }
  })
}

const identity: Translate = (scope) => {
  scope.session.help('Apply')
  return {
    value: { kind: 'layer', type: 'Apply', forward: ({ value }) => ({ value, text: '' }), added: false },
    text: 'new Apply((x) => x)',
    atom: true,
  }
}

export const LAYER_ROWS: readonly CallRow[] = [
  row(
    'paddle.nn.Linear',
    'in_features out_features weight_attr bias_attr name',
    'new nn.Linear({ in, out, init, biasInit, l2 })',
    linear,
  ),
  row(
    'paddle.nn.Embedding',
    'num_embeddings embedding_dim padding_idx sparse weight_attr name',
    'new nn.Embedding({ dim, init }), a table; an ordinary weight where ids are computed with',
    embedding,
  ),
  row('paddle.nn.Dropout', 'p axis mode name', 'new nn.Dropout({ rate })', dropout),
  row(
    'paddle.nn.BatchNorm1D',
    'num_features momentum epsilon weight_attr bias_attr data_format use_global_stats name',
    'new nn.BatchNorm({ width, epsilon, momentum }), of [batch, width]',
    norm('nn.BatchNorm', 'num_features'),
  ),
  row(
    'paddle.nn.BatchNorm',
    'num_channels act is_test momentum epsilon param_attr bias_attr dtype data_layout',
    'new nn.BatchNorm({ width, epsilon, momentum }), of [batch, width]',
    norm('nn.BatchNorm', 'num_channels'),
  ),
  row(
    'paddle.nn.LayerNorm',
    'normalized_shape epsilon weight_attr bias_attr name',
    'new nn.LayerNorm({ width, epsilon })',
    norm('nn.LayerNorm', 'normalized_shape'),
  ),
  activation('paddle.nn.ReLU', 'relu'),
  activation('paddle.nn.Sigmoid', 'sigmoid'),
  activation('paddle.nn.Tanh', 'tanh'),
  activation('paddle.nn.GELU', 'gelu'),
  activation('paddle.nn.Softplus', 'softplus'),
  activation('paddle.nn.LeakyReLU', 'leakyRelu', 'negative_slope name', 'negative_slope'),
  activation('paddle.nn.Softmax', 'softmax', 'axis name', 'axis'),
  row('paddle.nn.Identity', '', 'a layer that gives its operand', identity),
]
