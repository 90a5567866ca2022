/** @file What a layer is made of: parameters, sublayers, lists of layers; and optimizers. */
import type { Call } from '../ast.ts'
import type { Scope } from '../house.ts'
import { literal } from '../names.ts'
import { evaluate, evaluateCall } from '../recursion.ts'
import { Unported } from '../session.ts'
import { type Expr, type LayerValue, NONE, type ObjectValue, said, type Value } from '../value.ts'
import { type CallRow, flag, given, need, numberOf, objectText, row, type Translate } from './row.ts'
import { weightParts } from './weights.ts'

/** A weight of a layer, named as the field it is assigned to. */
const parameter: Translate = (scope, args) => {
  const { self, target } = scope.frame
  if (!self?.own.isLayer) throw new Unported('a weight outside a layer')
  if (!target)
    throw new Unported(
      'a weight that is not assigned to self: give it a name with this.addParameter({ name, shape, init })',
    )
  const shape = need(args, 'shape')
  const sizes =
    shape.value.kind === 'list'
      ? shape.value.items.map((value) => numberOf({ value, text: shape.text }))
      : [numberOf(shape)]
  const parts = weightParts(args['attr'])
  const own = parts.init ? parts.texts.init : given(args['default_initializer'])?.text
  const isBias = flag(args['is_bias'], false)
  if (!own && !isBias && sizes.length > 2)
    throw new Unported("Paddle's own initial values of a weight of more than two axes")
  const init = own ?? (isBias ? "{ kind: 'zeros' }" : "{ kind: 'xavier_uniform' }")
  const text = objectText({
    name: target,
    shape: shape.value.kind === 'list' ? shape.text : `[${shape.text}]`,
    init,
    l2: parts.texts.l2,
    learningRate: parts.rate,
    trainable: parts.trainable,
  })
  const { session } = scope
  const tensor = session.builder.parameter({ name: session.unique(), shape: sizes, init: { kind: 'zeros' } })
  return { value: { kind: 'variable', tensor, variable: undefined }, text: `this.addParameter(${text})`, atom: true }
}

export const isPart = (value: Value): value is LayerValue | ObjectValue =>
  value.kind === 'layer' || (value.kind === 'object' && value.own.isLayer)

const addSublayer: Translate = (_scope, args) => {
  const [name, layer] = [need(args, 'name'), need(args, 'sublayer')]
  if (layer.value.kind === 'unknown') return layer
  if (!isPart(layer.value)) throw new Unported(`${said(layer.value)} as a sublayer`)
  if (layer.value.added) return layer
  layer.value.added = true
  return { value: layer.value, text: `this.addSublayer(${name.text}, ${layer.text})`, atom: true }
}

const addParameter: Translate = (scope, args, node) => {
  const [name, own] = [need(args, 'name'), node.args[1] ?? node.keywords.find(({ arg }) => arg === 'parameter')?.value]
  if (own?._ !== 'Call') return need(args, 'parameter')
  scope.frame.target = name.text
  return evaluateCall(scope, own)
}

/** Layers one after the other; each is called with what the one before gives. */
const sequential =
  (type: 'Sequential' | 'LayerList'): Translate =>
  (scope, _args, node) => {
    scope.session.help(type)
    const { parts, text } = partsOf(scope, node, type)
    const forward = (x: Expr): Expr => {
      if (type === 'LayerList') throw new Unported('a list of layers is called')
      const result = parts.reduce((y: Expr, part) => forwardOf(scope, part, y), { ...x, text: 'x' })
      return { value: result.value, text: '' }
    }
    for (const part of parts) if (isPart(part)) part.added = true
    const kinds = [
      ...new Set(
        parts.map((part) =>
          part.kind === 'layer' ? part.type : part.kind === 'object' ? part.own.node.name : 'nn.Layer',
        ),
      ),
    ]
    const value: LayerValue = {
      kind: 'layer',
      type: type === 'LayerList' ? `LayerList<${kinds.join(' | ') || 'nn.Layer'}>` : type,
      forward,
      list: parts,
      added: false,
    }
    return { value, text: `new ${type}(${text})`, atom: true }
  }

function partsOf(scope: Scope, { args }: Call, type: string): { parts: Value[]; text: string } {
  const own = args.map((arg) => {
    const inner = arg._ === 'Starred' ? (arg as unknown as { value: Call }).value : arg
    const expr = evaluate(scope, inner)
    return arg._ === 'Starred' ? { ...expr, text: `...${expr.text}` } : expr
  })
  if (type === 'LayerList' && own.length > 1) throw new Unported('a LayerList of several arguments')
  const parts = own.flatMap(({ value }) => (value.kind === 'list' ? value.items : [value]))
  const stranger = parts.find((part) => !isPart(part))
  if (stranger) throw new Unported(`${said(stranger)} among layers`)
  const text = own
    .map((expr) => (expr.value.kind === 'list' && !expr.text.startsWith('...') ? `...${expr.text}` : expr.text))
    .join(', ')
  return { parts: [...parts], text }
}

function forwardOf(scope: Scope, part: Value, x: Expr): Expr {
  if (part.kind === 'layer') return part.forward(x)
  const callee: Expr = { value: part, text: 'own' }
  const vars = new Map([...scope.frame.vars, ['$layer', callee], ['$x', x]])
  const name = (id: string) => ({ _: 'Name', id, line: 0, end: 0 }) as const
  return evaluateCall(
    { ...scope, frame: { ...scope.frame, vars } },
    { _: 'Call', func: name('$layer'), args: [name('$x')], keywords: [], line: 0, end: 0 },
  )
}

const appendLayer: Translate = (_scope, args) => {
  const [self, layer] = [need(args, 'self'), need(args, 'sublayer')]
  if (self.value.kind !== 'layer' || !self.value.list || !isPart(layer.value))
    throw new Unported('append to what is no list of layers')
  self.value.list.push(layer.value)
  layer.value.added = true
  const own = layer.value.kind === 'layer' ? layer.value.type : layer.value.own.node.name
  const types = self.value.type.match(/<(.*)>/)?.[1]
  ;(self.value as { type: string }).type =
    `LayerList<${!types || types === 'nn.Layer' ? own : [...new Set([...types.split(' | '), own])].join(' | ')}>`
  return { value: NONE, text: `${self.text}.push(${layer.text})` }
}

const CREATE = 'shape attr dtype is_bias default_initializer'
export const PART_ROWS: readonly CallRow[] = [
  row(
    'paddle.create_parameter',
    'shape dtype name attr is_bias default_initializer',
    'this.addParameter({ name, shape, init })',
    parameter,
  ),
  { ...row('paddle.nn.Sequential', '', 'a layer that calls its parts in turn', sequential('Sequential')), raw: true },
  { ...row('paddle.nn.LayerList', '', 'a list of layers', sequential('LayerList')), raw: true },
]

export const PART_METHODS: readonly CallRow[] = [
  row('object.create_parameter', CREATE, 'this.addParameter({ name, shape, init })', parameter),
  row('object.add_sublayer', 'name sublayer', 'this.addSublayer(name, layer)', addSublayer),
  row('object.add_parameter', 'name parameter', 'this.addParameter({ name, shape, init })', addParameter),
  // Of an optimizer: here it has all of them.
  row('object.parameters', '', 'left out', () => ({ value: NONE, text: '' })),
  row('layer.append', 'sublayer', 'list.push(layer)', appendLayer),
]

const ADAM =
  'learning_rate beta1 beta2 epsilon parameters weight_decay grad_clip lazy_mode multi_precision use_multi_tensor name'

function optimizer(name: string, own: Readonly<Record<string, string>>): Translate {
  return (_scope, args) => {
    const [rate, decay, clip] = ['learning_rate', 'weight_decay', 'grad_clip'].map((part) => given(args[part]))
    if (decay && decay.value.kind !== 'number' && decay.value.kind !== 'regularizer')
      throw new Unported('a regularizer that was not translated')
    if (clip && clip.value.kind !== 'clip') throw new Unported('a clip that was not translated')
    const scheduled = rate?.value.kind === 'schedule'
    if (rate && !scheduled && rate.value.kind !== 'number')
      throw new Unported('a learning rate that was not translated')
    const parts = Object.entries(own).map(([paddles, ours]) => [ours, given(args[paddles])?.text] as const)
    const text = objectText({
      ...(scheduled ? scheduleParts(rate.text) : { learningRate: rate?.text }),
      ...Object.fromEntries(parts),
      l2: decay?.text,
      clip: clip?.text,
    })
    return { value: { kind: 'optimizer' }, text: `optimizer.${name}(${text})`, atom: true }
  }
}

/** Where it is kept in a variable first, its kind would become any text. */
const AS_CONST = ' as const'

const scheduleParts = (text: string): Readonly<Record<string, string>> => ({ schedule: text })

const pieces: Translate = (_scope, args) => ({
  value: { kind: 'schedule' },
  text:
    objectText({ kind: "'piecewise'", boundaries: need(args, 'boundaries').text, values: need(args, 'values').text }) +
    AS_CONST,
})

const clipBy =
  (kind: string, name: string): Translate =>
  (_scope, args) => ({
    value: { kind: 'clip' },
    text: objectText({ kind: literal(kind), max: need(args, name).text }) + AS_CONST,
  })

export const OPTIMIZER_ROWS: readonly CallRow[] = [
  row(
    'paddle.optimizer.Adam',
    ADAM,
    'optimizer.adam({ learningRate, lazy })',
    optimizer('adam', { beta1: 'beta1', beta2: 'beta2', epsilon: 'epsilon', lazy_mode: 'lazy' }),
  ),
  row(
    'paddle.optimizer.SGD',
    'learning_rate parameters weight_decay grad_clip multi_precision name',
    'optimizer.sgd({ learningRate })',
    optimizer('sgd', {}),
  ),
  row(
    'paddle.optimizer.Adagrad',
    'learning_rate epsilon parameters weight_decay grad_clip name initial_accumulator_value',
    'optimizer.adagrad({ learningRate })',
    optimizer('adagrad', { epsilon: 'epsilon', initial_accumulator_value: 'initialAccumulator' }),
  ),
  row(
    'paddle.optimizer.Momentum',
    'learning_rate momentum parameters use_nesterov weight_decay grad_clip multi_precision rescale_grad use_multi_tensor name',
    'optimizer.momentum({ learningRate, momentum })',
    optimizer('momentum', { momentum: 'momentum', use_nesterov: 'nesterov' }),
  ),
  row(
    'paddle.optimizer.lr.PiecewiseDecay',
    'boundaries values last_epoch verbose',
    "schedule: { kind: 'piecewise', boundaries, values }",
    pieces,
  ),
  row(
    'paddle.nn.ClipGradByGlobalNorm',
    'clip_norm group_name auto_skip_clip',
    "clip: { kind: 'global_norm', max }",
    clipBy('global_norm', 'clip_norm'),
  ),
  row('paddle.nn.ClipGradByNorm', 'clip_norm', "clip: { kind: 'norm', max }", clipBy('norm', 'clip_norm')),
  row('paddle.nn.ClipGradByValue', 'max min', "clip: { kind: 'value', max }", clipBy('value', 'max')),
  row('paddle.distributed.fleet.distributed_optimizer', 'optimizer strategy', 'optimizer', (_scope, args) =>
    need(args, 'optimizer'),
  ),
]
