/** @file What Python itself, math and numpy bring: numbers, lists, strings. */

import { grouped, shownAs } from '../operators.ts'
import { iterate } from '../recursion.ts'
import { Unported } from '../session.ts'
import { bool, list, NONE, num, said, str, type Value } from '../value.ts'
import { type CallRow, need, numberOf, row, type Translate } from './row.ts'

const math = (names: string, name: string, compute: (x: number) => number): CallRow =>
  row(names, 'x', `Math.${name}(x)`, (_scope, args) => {
    const x = need(args, 'x')
    return { value: num(compute(numberOf(x))), text: `Math.${name}(${x.text})`, atom: true }
  })

const len: Translate = (_scope, args) => {
  const x = need(args, 'x')
  if (x.value.kind === 'list') return { value: num(x.value.items.length), text: `${grouped(x)}.length`, atom: true }
  if (x.value.kind === 'layer' && x.value.list)
    return { value: num(x.value.list.length), text: `${x.text}.list.length`, atom: true }
  throw new Unported(`the length of ${said(x.value)}`)
}

const copied: Translate = (scope, args, node) => {
  if (!args['x']) return { value: list([]), text: '[]', atom: true }
  const over = iterate(scope, node.args[0]!)
  return { value: list([...over.items]), text: `[...${over.text}]`, atom: true }
}

const extreme =
  (name: 'max' | 'min'): Translate =>
  (_scope, args) => {
    const [a, b] = [need(args, 'a'), args['b']]
    const numbers =
      a.value.kind === 'list' ? a.value.items.map((value) => numberOf({ value, text: a.text })) : [a, b!].map(numberOf)
    return {
      value: num(Math[name](...numbers)),
      text: `Math.${name}(${a.value.kind === 'list' ? `...${a.text}` : `${a.text}, ${b?.text}`})`,
      atom: true,
    }
  }

const total: Translate = (_scope, args) => {
  const x = need(args, 'x')
  if (x.value.kind !== 'list') throw new Unported(`the sum of ${said(x.value)}`)
  const value = num(x.value.items.map((own) => numberOf({ value: own, text: x.text })).reduce((a, b) => a + b, 0))
  return { value, text: `${grouped(x)}.reduce((a, b) => a + b, 0)`, atom: true }
}

const nothing: Translate = () => ({ value: NONE, text: '' })
const no: Translate = () => ({ value: bool(false), text: 'false', atom: true, fixed: true })

export const PYTHON_ROWS: readonly CallRow[] = [
  row('len', 'x', 'x.length', len),
  row('str', 'x', 'String(x)', (_scope, args) => ({
    value: str(shownAs(need(args, 'x').value)),
    text: `String(${need(args, 'x').text})`,
    atom: true,
  })),
  math('int', 'trunc', Math.trunc),
  row('float', 'x', 'x', (_scope, args) => ({ ...need(args, 'x'), value: num(numberOf(need(args, 'x'))) })),
  math('math.sqrt numpy.sqrt', 'sqrt', Math.sqrt),
  math('math.ceil', 'ceil', Math.ceil),
  math('math.floor', 'floor', Math.floor),
  math('math.log', 'log', Math.log),
  math('math.log2 numpy.log2', 'log2', Math.log2),
  math('math.exp', 'exp', Math.exp),
  math('abs', 'abs', Math.abs),
  row('pow math.pow', 'x y', 'x ** y', (_scope, args) => {
    const [x, y] = [need(args, 'x'), need(args, 'y')]
    return { value: num(numberOf(x) ** numberOf(y)), text: `${grouped(x)} ** ${grouped(y)}` }
  }),
  row('max', 'a b', 'Math.max(a, b)', extreme('max')),
  row('min', 'a b', 'Math.min(a, b)', extreme('min')),
  row('sum', 'x', 'x.reduce((a, b) => a + b, 0)', total),
  row('list tuple', 'x', '[...x]', copied),
  row('range', 'start stop step', 'range(start, stop)', (scope, _args, node) => {
    const over = iterate(scope, node)
    return { value: list([...over.items]), text: over.text, atom: true }
  }),
  { ...row('print', '', 'left out', nothing), raw: true },
  row(
    'paddle.is_compiled_with_custom_device paddle.is_compiled_with_cuda paddle.is_compiled_with_xpu paddle.is_compiled_with_npu',
    'device_type',
    'false',
    no,
  ),
]

const append: Translate = (scope, args) => {
  const [self, x] = [need(args, 'self'), need(args, 'x')]
  if (self.value.kind !== 'list') throw new Unported('append to what is no list')
  self.value.items.push(x.value)
  const added =
    (x.value.kind === 'layer' || x.value.kind === 'object') && !x.value.added && scope.frame.self?.own.isLayer
  if (!added)
    return { value: NONE, text: `${self.text}.push(${x.text})` }
    // In a list alone it would have no name; Paddle does not know of such weights, but in a static graph they train.
  ;(x.value as { added: boolean }).added = true
  const name = self.text.replace(/^this\./, '')
  return { value: NONE, text: `${self.text}.push(this.addSublayer(\`${name}_\${${self.text}.length}\`, ${x.text}))` }
}

const extend: Translate = (_scope, args) => {
  const [self, x] = [need(args, 'self'), need(args, 'x')]
  if (self.value.kind !== 'list' || x.value.kind !== 'list') throw new Unported('extend of what is no list')
  self.value.items.push(...x.value.items)
  return { value: NONE, text: `${self.text}.push(...${x.text})` }
}

const items =
  (text: (dict: string) => string, part: (entry: readonly [string, Value]) => Value): Translate =>
  (_scope, args) => {
    const self = need(args, 'self')
    if (self.value.kind !== 'dict') throw new Unported('items of what is no dictionary')
    return { value: list([...self.value.entries].map(part)), text: text(self.text), atom: true }
  }

export const PYTHON_METHODS: readonly CallRow[] = [
  row('list.append', 'x', 'list.push(x)', append),
  row('list.extend', 'x', 'list.push(...x)', extend),
  row(
    'dict.items',
    '',
    'Object.entries(dict)',
    items(
      (text) => `Object.entries(${text})`,
      ([key, value]) => list([str(key), value], true),
    ),
  ),
  row(
    'dict.keys',
    '',
    'Object.keys(dict)',
    items(
      (text) => `Object.keys(${text})`,
      ([key]) => str(key),
    ),
  ),
  row(
    'dict.values',
    '',
    'Object.values(dict)',
    items(
      (text) => `Object.values(${text})`,
      ([, value]) => value,
    ),
  ),
  row('string.lower', '', 'text.toLowerCase()', (_scope, args) => {
    const self = need(args, 'self')
    return { value: str(shownAs(self.value).toLowerCase()), text: `${grouped(self)}.toLowerCase()`, atom: true }
  }),
]
