/** @file Python's operators on numbers, strings, lists and tensors. */
import { house, type Scope } from './house.ts'
import { Unported } from './session.ts'
import { bool, type Expr, list, num, said, same, str, type Value } from './value.ts'

const TENSOR_OPS: Readonly<Record<string, string>> = { Add: 'add', Sub: 'sub', Mult: 'mul', Div: 'div', Pow: 'pow' }
const NUMBER_OPS: Readonly<Record<string, (a: number, b: number) => number>> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mult: (a, b) => a * b,
  Div: (a, b) => a / b,
  Pow: (a, b) => a ** b,
  FloorDiv: (a, b) => Math.floor(a / b),
  Mod: (a, b) => a - b * Math.floor(a / b),
}
const SIGNS: Readonly<Record<string, string>> = { Add: '+', Sub: '-', Mult: '*', Div: '/', Pow: '**' }

export const isTensor = ({ kind }: Value): boolean => kind === 'tensor' || kind === 'variable' || kind === 'unknown'
export const grouped = ({ text, atom }: Expr): string => (atom ? text : `(${text})`)

export function binary(scope: Scope, op: string, a: Expr, b: Expr): Expr {
  if (isTensor(a.value) || isTensor(b.value)) return tensorBinary(scope, op, a, b)
  const [left, right] = [a.value, b.value]
  if (left.kind === 'number' && right.kind === 'number') return numberBinary(op, a, b, left.value, right.value)
  if (left.kind === 'string' && op === 'Mod') return formatted(left.value, b)
  if (left.kind === 'string' && right.kind === 'string' && op === 'Add')
    return { value: str(left.value + right.value), text: `${grouped(a)} + ${grouped(b)}` }
  if (left.kind === 'list' && right.kind === 'list' && op === 'Add')
    return { value: list([...left.items, ...right.items]), text: `[${spread(a)}, ${spread(b)}]`, atom: true }
  if (left.kind === 'list' && right.kind === 'number' && op === 'Mult') return repeated(a, b, left.items, right.value)
  throw new Unported(`${op} of ${said(left)} and ${said(right)}`)
}

/** The parts of a list literal, or the list spread. */
const spread = ({ text }: Expr): string =>
  /^\[[^[\]]*\]$/.test(text) && text !== '[]' ? text.slice(1, -1) : `...${text}`

function tensorBinary(scope: Scope, op: string, a: Expr, b: Expr): Expr {
  if (op === 'MatMult') return house(scope, 'matmul', a, b)
  const name = TENSOR_OPS[op]
  if (!name) throw new Unported(`${op} of tensors`)
  return house(scope, name, a, b)
}

function numberBinary(op: string, a: Expr, b: Expr, left: number, right: number): Expr {
  const compute = NUMBER_OPS[op]
  if (!compute) throw new Unported(`${op} of numbers`)
  const value = num(compute(left, right))
  if (op === 'FloorDiv') return { value, text: `Math.floor(${a.text} / ${grouped(b)})`, atom: true }
  if (op === 'Mod') {
    if (left < 0 || right < 0) throw new Unported('the remainder of a negative number')
    return { value, text: `${grouped(a)} % ${grouped(b)}` }
  }
  // -2 ** n is no expression in TypeScript
  const base = op === 'Pow' && a.text.startsWith('-') ? `(${a.text})` : grouped(a)
  return { value, text: `${base} ${SIGNS[op]} ${grouped(b)}` }
}

function repeated(a: Expr, b: Expr, items: readonly Value[], times: number): Expr {
  if (items.length !== 1) throw new Unported('a list of several elements, repeated')
  const value = list(Array.from({ length: Math.max(0, times) }, () => items[0]!))
  return { value, text: `Array.from({ length: ${b.text} }, () => ${a.text.slice(1, -1)})`, atom: true }
}

/** 'linear_%d' % i, as a template. */
function formatted(pattern: string, operands: Expr): Expr {
  const tuple = operands.value.kind === 'list' && operands.value.tuple
  if (tuple) throw new Unported('a string with several places to fill')
  const [before, after, ...more] = pattern.split(/%[dsi]/)
  if (after === undefined || more.length > 0 || pattern.includes('%%')) throw new Unported(`the pattern '${pattern}'`)
  return template([before!, operands, after])
}

/** Text and values side by side, as Python's str() writes them. */
export function template(parts: readonly (string | Expr)[]): Expr {
  const values = parts.map((part) => (typeof part === 'string' ? part : shownAs(part.value)))
  const texts = parts.map((part) =>
    typeof part === 'string' ? part.replaceAll(/[`$\\]/g, '\\$&') : `\${${part.text}}`,
  )
  return { value: str(values.join('')), text: `\`${texts.join('')}\``, atom: true }
}

export function shownAs(value: Value): string {
  if (value.kind === 'string' || value.kind === 'number') return String(value.value)
  throw new Unported(`${said(value)} as text`)
}

const COMPARED: Readonly<Record<string, string>> = {
  Gt: 'greater',
  Lt: 'less',
  GtE: 'greaterEqual',
  LtE: 'lessEqual',
  Eq: 'equal',
  NotEq: 'notEqual',
}
const COMPARE_SIGNS: Readonly<Record<string, string>> = { Gt: '>', Lt: '<', GtE: '>=', LtE: '<=' }
const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  Gt: (a, b) => a > b,
  Lt: (a, b) => a < b,
  GtE: (a, b) => a >= b,
  LtE: (a, b) => a <= b,
}

/** True is 1 in Python. */
function asNumber(own: Expr, other: Expr): Expr {
  if (own.value.kind !== 'boolean' || other.value.kind !== 'number') return own
  return { ...own, value: num(Number(own.value.value)), text: `Number(${own.text})`, atom: true }
}

export function compare(scope: Scope, op: string, left: Expr, right: Expr): Expr {
  const [a, b] = [asNumber(left, right), asNumber(right, left)]
  const fixed = (a.fixed ?? false) || (b.fixed ?? false)
  if (op === 'Is' || op === 'IsNot' || op === 'Eq' || op === 'NotEq') {
    const known = isNone(a) || isNone(b) ? isNone(a) === isNone(b) : same(a.value, b.value)
    if (known === undefined) return house(scope, COMPARED[op] ?? 'equal', a, b)
    if (a.value.kind === 'list' && !isNone(b)) throw new Unported('lists compared')
    const yes = op === 'Is' || op === 'Eq'
    return { value: bool(known === yes), text: `${grouped(a)} ${yes ? '===' : '!=='} ${grouped(b)}`, fixed }
  }
  if (op === 'In' || op === 'NotIn') return membership(op === 'In', a, b)
  if (isTensor(a.value) || isTensor(b.value)) return house(scope, COMPARED[op]!, a, b)
  if (a.value.kind !== 'number' || b.value.kind !== 'number')
    throw new Unported(`${op} of ${said(a.value)} and ${said(b.value)}`)
  return {
    value: bool(COMPARE[op]!(a.value.value, b.value.value)),
    text: `${grouped(a)} ${COMPARE_SIGNS[op]} ${grouped(b)}`,
    fixed,
  }
}

const isNone = ({ value }: Expr): boolean => value.kind === 'none'

function membership(yes: boolean, a: Expr, b: Expr): Expr {
  if (b.value.kind !== 'list' || (a.value.kind !== 'string' && a.value.kind !== 'number'))
    throw new Unported(`"in" of ${said(b.value)}`)
  const found = b.value.items.some((item) => same(item, a.value) === true)
  return { value: bool(found === yes), text: `${yes ? '' : '!'}${b.text}.includes(${a.text})` }
}

/** The text of a test: what is true in Python and not in JavaScript is compared. */
export function condition(expr: Expr): string {
  if (expr.value.kind === 'list') return `(${grouped(expr)}.length > 0)`
  if (expr.value.kind === 'dict') throw new Unported('a dictionary as a test')
  return grouped(expr)
}
