/** @file Operations on tensors. */
import { constant, expand as expanded } from '../../../graph/program/index.ts'
import { asTensors, computed, house, operandText, symbolOf } from '../house.ts'
import { grouped } from '../operators.ts'
import { Unported } from '../session.ts'
import { type Expr, list, num, said, UNKNOWN, type Value } from '../value.ts'
import { type CallRow, flag, given, need, numberOf, op, row, type Translate } from './row.ts'

const DTYPES: Readonly<Record<string, string>> = {
  float32: 'float32',
  float64: 'float64',
  int64: 'int64',
  int32: 'int32',
  bool: 'bool',
}

export const literalNumber = (n: number): Expr => ({ value: num(n), text: String(n), atom: true })
const literalText = (text: string, value: Value): Expr => ({ value, text, atom: true })

export const concat: Translate = (scope, args) => {
  const x = need(args, 'x')
  const axis = given(args['axis']) ?? literalNumber(0)
  const items = x.value.kind === 'list' ? x.value.items : []
  const slots = items.filter(({ kind }) => kind === 'slots')
  if (slots.length > 0 && slots.length === items.length && numberOf(axis) !== 0) return sideBySide(x, items)
  asTensors(scope, items)
  return house(scope, 'concat', x, axis)
}

/** Ids of slots side by side stay ids. */
function sideBySide(x: Expr, items: readonly Value[]): Expr {
  const all = items.flatMap((item) => (item.kind === 'slots' ? [item] : []))
  const value: Value = {
    kind: 'slots',
    slots: all.flatMap(({ slots }) => slots),
    many: true,
    feeds: all.flatMap(({ feeds }) => feeds),
  }
  const text = all.some(({ many }) => many) ? `${grouped(x)}.flat()` : x.text
  return { value, text, atom: true }
}

export const cast: Translate = (scope, args) => {
  const x = need(args, 'x')
  const { value } = need(args, 'dtype')
  const name = value.kind === 'string' ? value.value : value.kind === 'name' ? value.path.replace(/^paddle\./, '') : ''
  const to = DTYPES[name]
  if (x.value.kind === 'metric' || (x.value.kind === 'slots' && name === 'int64')) return x
  if (!to) throw new Unported(`a cast to ${name || value.kind}`)
  return house(scope, 'cast', x, literalText(`'${to}'`, { kind: 'string', value: to }))
}

/** Sizes as Paddle takes them: 0 in a shape stands for the operand's own size. */
export const reshape: Translate = (scope, args) => {
  const [x, shape] = [need(args, 'x'), need(args, 'shape')]
  if (shape.value.kind !== 'list') throw new Unported(`a shape that is ${said(shape.value)}`)
  sizesIn(shape.value.items)
  const zeros = shape.value.items.some((item) => item.kind === 'number' && item.value === 0)
  if (!zeros) return house(scope, 'reshape', x, shape)
  const dims = symbolOf(x.value)?.shape
  if (!dims || !/^\[[^[\]()]*\]$/.test(shape.text)) throw new Unported('0 in a shape')
  const texts = shape.text
    .slice(1, -1)
    .split(', ')
    .map((text, i) => (text === '0' ? `${operandText(scope, x)}.shape[${i}]!` : text))
  const items = shape.value.items.map(
    (item, i): Value => (item.kind === 'number' && item.value === 0 ? dimValue(dims[i]!) : item),
  )
  return house(scope, 'reshape', x, literalText(`[${texts.join(', ')}]`, list(items)))
}

/** Sizes are numbers, or dimensions of another tensor. */
function sizesIn(items: readonly Value[]): void {
  const stranger = items.find(({ kind }) => kind !== 'number' && kind !== 'dim')
  if (stranger) throw new Unported(`${said(stranger)} in a shape`)
}

const dimValue = (dim: number | string): Value =>
  typeof dim === 'number' ? num(dim) : { kind: 'dim', dim: dim as never }

const matmul: Translate = (scope, args) => {
  const side = (name: string, flagName: string) =>
    flag(args[flagName], false) ? house(scope, 'transpose', need(args, name)) : need(args, name)
  return house(scope, 'matmul', side('x', 'transpose_x'), side('y', 'transpose_y'))
}

/** Axes may be a list of one. */
export const unsqueeze: Translate = (scope, args) => {
  const axis = need(args, 'axis')
  const { value } = axis
  if (value.kind !== 'list') return house(scope, 'unsqueeze', need(args, 'x'), axis)
  if (value.items.length !== 1) throw new Unported('several new axes at once')
  return house(scope, 'unsqueeze', need(args, 'x'), { value: value.items[0]!, text: axis.text.slice(1, -1) })
}

const slice: Translate = (scope, args) => {
  const lists = ['axes', 'starts', 'ends'].map((name) => {
    const own = need(args, name)
    if (own.value.kind !== 'list' || !/^\[[^[\]()]*\]$/.test(own.text))
      throw new Unported(`${name} that is not written as a list`)
    const texts = own.text.slice(1, -1).split(', ')
    return own.value.items.map((value, i): Expr => ({ value, text: texts[i]! }))
  })
  const [axes, starts, ends] = lists as [Expr[], Expr[], Expr[]]
  return axes.reduce(
    (x, axis, i) => {
      const size = symbolOf(x.value)?.shape[numberOf(axis)]
      const end = ends[i]!
      const beyond = end.value.kind === 'number' && typeof size === 'number' && end.value.value >= size
      return house(scope, 'slice', x, axis, starts[i]!, beyond ? undefined : end)
    },
    need(args, 'input'),
  )
}

const flatten: Translate = (scope, args) => {
  const x = need(args, 'x')
  const from = args['start_axis'] ? numberOf(args['start_axis']) : 0
  const to = args['stop_axis'] ? numberOf(args['stop_axis']) : -1
  const own = symbolOf(x.value)
  if (from !== 1 || to !== -1 || !own) throw new Unported('flatten of other axes than all behind the first')
  const size = own.shape.slice(1).reduce((product: number, dim) => product * Number(dim), 1)
  if (!Number.isInteger(size)) throw new Unported('flatten of axes whose size is not known')
  const text = `${operandText(scope, x)}.shape.slice(1).reduce((product: number, dim) => product * Number(dim), 1)`
  return house(scope, 'reshape', x, literalText(`[-1, ${text}]`, list([num(-1), num(size)])))
}

/** A constant in the shape of a tensor. */
const full =
  (fill: (args: Readonly<Record<string, Expr | undefined>>) => Expr): Translate =>
  (scope, args) => {
    const x = need(args, 'x')
    asTensors(scope, [x.value])
    const dtype = given(args['dtype'])?.value
    const own = symbolOf(x.value)
    const asked = dtype?.kind === 'string' ? dtype.value : own?.dtype
    if (asked !== 'float32') throw new Unported(`a constant of ${asked ?? 'unknown'} values`)
    const [text, value] = [operandText(scope, x), fill(args)]
    const written = `nn.expand(nn.constant(${text}.builder, ${value.text}), ${text}.shape)`
    if (!own) return literalText(written, UNKNOWN)
    return computed(written, () => expanded(constant(own.builder, numberOf(value)), own.shape))
  }

const scale: Translate = (scope, args) => {
  if (!flag(args['bias_after_scale'], true)) throw new Unported('bias_after_scale=False')
  const [factor, bias] = [given(args['scale']), given(args['bias'])]
  const scaled = factor ? house(scope, 'mul', need(args, 'x'), factor) : need(args, 'x')
  return bias ? house(scope, 'add', scaled, bias) : scaled
}

const addAll: Translate = (scope, args) => {
  const x = need(args, 'inputs')
  if (x.value.kind !== 'list' || x.value.items.length === 0) throw new Unported('a sum of what is no list')
  const total = x.value.items.map((value): Expr => ({ value, text: 'x' })).reduce((a, b) => house(scope, 'add', a, b))
  return { value: total.value, text: `${grouped(x)}.reduce((a, b) => nn.add(a, b))`, atom: true }
}

const clip: Translate = (scope, args) => {
  const [low, high] = [given(args['min']), given(args['max'])]
  if (low && high) return house(scope, 'clip', need(args, 'x'), low, high)
  if (low) return house(scope, 'maximum', need(args, 'x'), low)
  return high ? house(scope, 'minimum', need(args, 'x'), high) : need(args, 'x')
}

const split: Translate = (scope, args) => {
  const parts = need(args, 'num_or_sections')
  return house(scope, 'split', need(args, 'x'), parts, given(args['axis']) ?? literalNumber(0))
}

const expand: Translate = (scope, args) => {
  const [x, shape] = [need(args, 'x'), need(args, 'shape')]
  if (shape.value.kind !== 'list') throw new Unported(`a shape that is ${said(shape.value)}`)
  sizesIn(shape.value.items)
  if (shape.value.items.some((item) => item.kind === 'number' && item.value === -1))
    throw new Unported('-1 in the shape of expand')
  return house(scope, 'expand', x, shape)
}

const reductions = (names: string, own: string) => op(names, 'x axis keepdim name', own, 'x', 'axis', 'keepdim')
const two = (names: string, own: string) => op(names, 'x y name', own, 'x', 'y')
const one = (names: string, own: string) => op(names, 'x name', own)

export const TENSOR_ROWS: readonly CallRow[] = [
  two('paddle.add', 'add'),
  two('paddle.subtract', 'sub'),
  two('paddle.multiply', 'mul'),
  two('paddle.divide', 'div'),
  two('paddle.pow', 'pow'),
  two('paddle.maximum', 'maximum'),
  two('paddle.minimum', 'minimum'),
  two('paddle.equal', 'equal'),
  two('paddle.not_equal', 'notEqual'),
  two('paddle.greater_than', 'greater'),
  two('paddle.greater_equal', 'greaterEqual'),
  two('paddle.less_than', 'less'),
  two('paddle.less_equal', 'lessEqual'),
  two('paddle.logical_and', 'and'),
  two('paddle.logical_or', 'or'),
  one('paddle.logical_not', 'not'),
  one('paddle.exp', 'exp'),
  one('paddle.log', 'log'),
  one('paddle.sqrt', 'sqrt'),
  one('paddle.square', 'square'),
  one('paddle.abs', 'abs'),
  one('paddle.sign', 'sign'),
  one('paddle.floor', 'floor'),
  one('paddle.erf', 'erf'),
  row('paddle.rsqrt', 'x name', 'nn.div(1, nn.sqrt(x))', (scope, args) =>
    house(scope, 'div', literalNumber(1), house(scope, 'sqrt', need(args, 'x'))),
  ),
  row('paddle.reciprocal', 'x name', 'nn.div(1, x)', (scope, args) =>
    house(scope, 'div', literalNumber(1), need(args, 'x')),
  ),
  row('paddle.log2', 'x name', 'nn.div(nn.log(x), Math.LN2)', (scope, args) =>
    house(scope, 'div', house(scope, 'log', need(args, 'x')), literalText('Math.LN2', num(Math.LN2))),
  ),
  op('paddle.sum', 'x axis dtype keepdim name', 'sum', 'x', 'axis', 'keepdim'),
  reductions('paddle.mean', 'mean'),
  reductions('paddle.max', 'max'),
  reductions('paddle.min', 'min'),
  reductions('paddle.prod', 'prod'),
  op('paddle.cumsum', 'x axis dtype name', 'cumsum', 'x', 'axis'),
  row('paddle.add_n', 'inputs name', 'inputs.reduce((a, b) => nn.add(a, b))', addAll),
  row('paddle.scale', 'x scale bias bias_after_scale act name', 'nn.add(nn.mul(x, scale), bias)', scale),
  row('paddle.clip', 'x min max name', 'nn.clip(x, min, max)', clip),
  row('paddle.matmul', 'x y transpose_x transpose_y name', 'nn.matmul(x, y)', matmul),
  row('paddle.bmm paddle.mm', 'x y name', 'nn.matmul(x, y)', matmul),
  row('paddle.concat', 'x axis name', 'nn.concat(x, axis); of ids the list of slots', concat),
  row('paddle.stack', 'x axis name', 'nn.stack(x, axis)', (scope, args) =>
    house(scope, 'stack', need(args, 'x'), given(args['axis']) ?? literalNumber(0)),
  ),
  row('paddle.split', 'x num_or_sections axis name', 'nn.split(x, pieces, axis)', split),
  row('paddle.slice', 'input axes starts ends', 'nn.slice(x, axis, start, end), once an axis', slice),
  row('paddle.reshape', 'x shape name', 'nn.reshape(x, shape)', reshape),
  row('paddle.flatten', 'x start_axis stop_axis name', 'nn.reshape(x, [-1, ...])', flatten),
  op('paddle.transpose', 'x perm name', 'transpose', 'x', 'perm'),
  row('paddle.unsqueeze', 'x axis name', 'nn.unsqueeze(x, axis)', unsqueeze),
  op('paddle.squeeze', 'x axis name', 'squeeze', 'x', 'axis'),
  row('paddle.tile', 'x repeat_times name', 'nn.tile(x, times)', (scope, args) => {
    const times = need(args, 'repeat_times')
    sizesIn(times.value.kind === 'list' ? times.value.items : [times.value])
    return house(scope, 'tile', need(args, 'x'), times)
  }),
  row('paddle.expand paddle.broadcast_to', 'x shape name', 'nn.expand(x, shape)', expand),
  op('paddle.where', 'condition x y name', 'where', 'condition', 'x', 'y'),
  row('paddle.cast', 'x dtype', "nn.cast(x, 'float32')", cast),
  row(
    'paddle.full_like',
    'x fill_value dtype name',
    'nn.expand(nn.constant(x.builder, value), x.shape)',
    full((args) => need(args, 'fill_value')),
  ),
  row(
    'paddle.ones_like',
    'x dtype name',
    'nn.expand(nn.constant(x.builder, 1), x.shape)',
    full(() => literalNumber(1)),
  ),
  row(
    'paddle.zeros_like',
    'x dtype name',
    'nn.expand(nn.constant(x.builder, 0), x.shape)',
    full(() => literalNumber(0)),
  ),
  op('paddle.nn.functional.one_hot', 'x num_classes name', 'oneHot', 'x', 'num_classes'),
  row('paddle.shape', 'input', 'x.shape', (_scope, args) => {
    const own = symbolOf(need(args, 'input').value)
    if (!own) throw new Unported('the shape of something that was not translated')
    return literalText(`${need(args, 'input').text}.shape`, list(own.shape.map(dimValue)))
  }),
]

/** The same as methods: x.sum(axis) is paddle.sum(x, axis). */
const METHOD_NAMES =
  'add subtract multiply divide pow maximum minimum exp log sqrt square abs sign sum mean max min prod matmul bmm reshape flatten transpose unsqueeze squeeze tile expand cast clip split scale cumsum'
export const TENSOR_METHODS: readonly CallRow[] = [
  ...METHOD_NAMES.split(' ').map((name): CallRow => {
    const own = TENSOR_ROWS.find(({ names }) => names.includes(`paddle.${name}`))!
    const [first, ...params] = own.params
    return {
      ...own,
      names: [`Tensor.${name}`],
      params,
      translate: (scope, args, node) => own.translate!(scope, { ...args, [first!]: args['self'] }, node),
    }
  }),
  row('Tensor.astype', 'dtype', "nn.cast(x, 'float32')", (scope, args, node) =>
    cast(scope, { x: args['self'], dtype: args['dtype'] }, node),
  ),
  row('Tensor.t', '', 'nn.transpose(x)', (scope, args) => house(scope, 'transpose', need(args, 'self'))),
  ...['sigmoid', 'tanh'].map((name) =>
    row(`Tensor.${name}`, 'name', `nn.${name}(x)`, (scope, args) => house(scope, name, need(args, 'self'))),
  ),
  row('Tensor.softmax', 'axis', 'nn.softmax(x, axis)', (scope, args) =>
    house(scope, 'softmax', need(args, 'self'), args['axis']),
  ),
  row('Tensor.detach', '', 'nn.stopGradient(x)', (scope, args) => house(scope, 'stopGradient', need(args, 'self'))),
  row('Tensor.clone', '', 'x', (_scope, args) => need(args, 'self')),
]
