/** @file Activations and losses as functions, and metrics. */
import { house, operandText } from '../house.ts'
import { Unported } from '../session.ts'
import { type Expr, list, NONE } from '../value.ts'
import { type Args, type CallRow, flag, given, need, op, row, type Translate } from './row.ts'

const F = 'paddle.nn.functional.'
const named = (name: string, also = '') => `${F}${name}${also && ` ${also}`}`

/** The mean, the sum, or each by itself, as `reduction=` says. */
function reduced(scope: Parameters<Translate>[0], each: Expr, args: Args): Expr {
  const how = given(args['reduction'])?.value
  const name = how?.kind === 'string' ? how.value : 'mean'
  return name === 'none' ? each : house(scope, name === 'sum' ? 'sum' : 'mean', each)
}

function refuse(args: Args, ...names: readonly string[]): void {
  const own = names.find(
    (name) => given(args[name]) && !(args[name]!.value.kind === 'boolean' && !args[name]!.value.value),
  )
  if (own) throw new Unported(`a loss with ${own}`)
}

const crossEntropy: Translate = (scope, args) => {
  refuse(args, 'weight', 'soft_label')
  if (given(args['ignore_index']) || !flag(args['use_softmax'], true))
    throw new Unported('cross_entropy with ignore_index or use_softmax=False')
  return reduced(scope, house(scope, 'softmaxCrossEntropy', need(args, 'input'), need(args, 'label')), args)
}

const withLogits: Translate = (scope, args) => {
  refuse(args, 'weight', 'pos_weight')
  return reduced(scope, house(scope, 'sigmoidCrossEntropy', need(args, 'logit'), need(args, 'label')), args)
}

const onProbabilities: Translate = (scope, args) => {
  refuse(args, 'weight')
  const epsilon: Expr = { value: { kind: 'dict', entries: new Map() }, text: '{ epsilon: 1e-12 }' }
  const each = house(scope, 'logLoss', need(args, 'input'), need(args, 'label'))
  return reduced(scope, { ...each, text: each.text.replace(/\)$/, `, ${epsilon.text})`) }, args)
}

const logLoss: Translate = (scope, args) => {
  const each = house(scope, 'logLoss', need(args, 'input'), need(args, 'label'))
  const epsilon = given(args['epsilon'])
  return epsilon ? { ...each, text: each.text.replace(/\)$/, `, { epsilon: ${epsilon.text} })`) } : each
}

const squared: Translate = (scope, args) => house(scope, 'squareError', need(args, 'input'), need(args, 'label'))

/** Measured beside the net, so only what is measured stays: the metric itself. */
const auc: Translate = (scope, args) => {
  const [input, label] = [need(args, 'input'), need(args, 'label')]
  for (const own of [input, label]) operandText(scope, own)
  scope.session.predictions.push(input)
  const value = list([{ kind: 'metric' }, NONE, NONE], true)
  return { value, text: `metric.auc(${input.text}, ${label.text})`, atom: true }
}

export const FUNCTIONAL_ROWS: readonly CallRow[] = [
  op(named('relu'), 'x name', 'relu'),
  op(named('sigmoid', 'paddle.sigmoid'), 'x name', 'sigmoid'),
  op(named('tanh', 'paddle.tanh'), 'x name', 'tanh'),
  op(named('gelu'), 'x approximate name', 'gelu'),
  op(named('softplus'), 'x beta threshold name', 'softplus'),
  op(named('leaky_relu'), 'x negative_slope name', 'leakyRelu', 'x', 'negative_slope'),
  op(named('softmax'), 'x axis dtype name', 'softmax', 'x', 'axis'),
  op(named('log_softmax'), 'x axis dtype name', 'logSoftmax', 'x', 'axis'),
  row(named('linear'), 'x weight bias name', 'nn.add(nn.matmul(x, weight), bias)', (scope, args) => {
    const product = house(scope, 'matmul', need(args, 'x'), need(args, 'weight'))
    const bias = given(args['bias'])
    return bias ? house(scope, 'add', product, bias) : product
  }),
  row(
    named('cross_entropy'),
    'input label weight ignore_index reduction soft_label axis use_softmax name',
    'nn.mean(nn.softmaxCrossEntropy(input, label))',
    crossEntropy,
  ),
  row(
    named('binary_cross_entropy_with_logits'),
    'logit label weight reduction pos_weight name',
    'nn.mean(nn.sigmoidCrossEntropy(logit, label))',
    withLogits,
  ),
  row(
    named('binary_cross_entropy'),
    'input label weight reduction name',
    'nn.mean(nn.logLoss(input, label, { epsilon: 1e-12 }))',
    onProbabilities,
  ),
  row(named('log_loss'), 'input label epsilon name', 'nn.logLoss(input, label)', logLoss),
  row(named('square_error_cost'), 'input label', 'nn.squareError(input, label)', squared),
  row(named('mse_loss'), 'input label reduction name', 'nn.mean(nn.squareError(input, label))', (scope, args, node) =>
    reduced(scope, squared(scope, args, node), args),
  ),
  row(
    'paddle.static.auc',
    'input label curve num_thresholds topk slide_steps ins_tag_weight',
    'metric.auc(input, label)',
    auc,
  ),
]
