/** @file Follows an expression: what it comes to with the values of the config, and the TypeScript that computes it. */
import type { Attribute, Dict, Expression, JoinedStr, Sequence } from './ast.ts'
import { evaluateCall } from './call.ts'
import { evaluateList } from './comprehension.ts'
import type { Scope } from './house.ts'
import { house } from './house.ts'
import { memberOf } from './member.ts'
import { keyText, literal } from './names.ts'
import { binary, compare, condition, grouped, isTensor, template } from './operators.ts'
import { lookUp } from './scope.ts'
import { Unported } from './session.ts'
import { subscript } from './subscript.ts'
import { bool, type Expr, list, NONE, num, said, str, truth, type Value } from './value.ts'

export function evaluate(scope: Scope, node: Expression): Expr {
  scope.session.step()
  switch (node._) {
    case 'Constant':
      return constant(node)
    case 'Name':
      return lookUp(scope, node.id)
    case 'Attribute':
      return attribute(scope, node)
    case 'Call':
      return evaluateCall(scope, node)
    case 'List':
    case 'Tuple':
      return sequence(scope, node)
    case 'Dict':
      return dict(scope, node)
    case 'BinOp':
      return binary(scope, node.op._, evaluate(scope, node.left), evaluate(scope, node.right))
    case 'UnaryOp':
      return unary(scope, node.op._, evaluate(scope, node.operand))
    case 'BoolOp':
      return either(
        node.op._ === 'And',
        node.values.map((own) => evaluate(scope, own)),
      )
    case 'Compare':
      if (node.ops.length > 1) throw new Unported('a chain of comparisons')
      return compare(scope, node.ops[0]!._, evaluate(scope, node.left), evaluate(scope, node.comparators[0]!))
    case 'IfExp':
      return choice(scope, node)
    case 'Subscript':
      return subscript(scope, evaluate(scope, node.value), node.slice)
    case 'ListComp':
    case 'GeneratorExp':
      return evaluateList(scope, node)
    case 'JoinedStr':
      return joined(scope, node)
    default:
      throw new Unported(EXPRESSIONS[node._] ?? `Python's ${node._}`)
  }
}

const EXPRESSIONS: Readonly<Record<string, string>> = {
  Lambda: 'a lambda',
  DictComp: 'a dictionary that is made by a loop',
  SetComp: 'a set',
  Set: 'a set',
  Starred: 'a list whose elements are arguments',
}

function constant(node: Extract<Expression, { _: 'Constant' }>): Expr {
  const { value, other } = node
  if (other !== undefined || value === undefined) throw new Unported(`the constant ${other}`)
  if (value === null) return { value: NONE, text: 'null', atom: true }
  if (typeof value === 'string') return { value: str(value), text: literal(value), atom: true }
  if (typeof value === 'boolean') return { value: bool(value), text: String(value), atom: true }
  return { value: num(value), text: String(value), atom: true }
}

function attribute(scope: Scope, node: Attribute): Expr {
  const { model, self } = scope.frame
  if (node.value._ === 'Name' && node.value.id === 'self' && model) {
    const known = model.get(node.attr)
    if (known) return known
    throw new Unported(`self.${node.attr} has no value here`)
  }
  const base = evaluate(scope, node.value)
  return memberOf(scope, base, node.attr, self !== undefined && base.text === 'this')
}

function sequence(scope: Scope, node: Sequence): Expr {
  const items = node.elts.map((own) => evaluate(scope, own))
  const value = list(
    items.map((own) => own.value),
    node._ === 'Tuple',
  )
  return { value, text: `[${items.map((own) => own.text).join(', ')}]`, atom: true }
}

function dict(scope: Scope, node: Dict): Expr {
  const entries = node.keys.map((key, i) => {
    const name = key && evaluate(scope, key).value
    if (name?.kind !== 'string') throw new Unported('a dictionary whose keys are not strings')
    return [name.value, evaluate(scope, node.values[i]!)] as const
  })
  const value: Value = { kind: 'dict', entries: new Map(entries.map(([name, own]) => [name, own.value])) }
  return { value, text: `{ ${entries.map(([name, own]) => `${keyText(name)}: ${own.text}`).join(', ')} }`, atom: true }
}

function unary(scope: Scope, op: string, operand: Expr): Expr {
  const { value } = operand
  if (op === 'USub' && value.kind === 'number')
    return { value: num(-value.value), text: `-${grouped(operand)}`, atom: true }
  if (op === 'USub') return house(scope, 'neg', operand)
  if (op === 'Not') {
    const known = truth(value)
    if (known === undefined) throw new Unported('"not" of a tensor')
    return { value: bool(!known), text: `!${condition(operand)}`, fixed: operand.fixed ?? false }
  }
  if (op === 'Invert' && isTensor(value)) return house(scope, 'not', operand)
  throw new Unported(`${op} of ${said(value)}`)
}

function either(all: boolean, operands: readonly Expr[]): Expr {
  const known = operands.map(({ value }) => truth(value))
  if (known.includes(undefined)) throw new Unported('a tensor as a test')
  if (operands.some(({ value }) => value.kind !== 'boolean')) throw new Unported('"and" and "or" of what is no boolean')
  const value = bool(all ? known.every(Boolean) : known.some(Boolean))
  return { value, text: operands.map(condition).join(all ? ' && ' : ' || ') }
}

function choice(scope: Scope, node: Extract<Expression, { _: 'IfExp' }>): Expr {
  const test = evaluate(scope, node.test)
  const known = truth(test.value)
  if (known === undefined) throw new Unported('a tensor as a test')
  const [yes, no] = [evaluate(scope, node.body), evaluate(scope, node.orelse)]
  return { value: known ? yes.value : no.value, text: `${condition(test)} ? ${grouped(yes)} : ${grouped(no)}` }
}

function joined(scope: Scope, node: JoinedStr): Expr {
  const parts = node.values.map((own) => {
    if (own._ === 'Constant') return String(own.value)
    if (own._ === 'FormattedValue' && !own.format_spec) return evaluate(scope, own.value)
    throw new Unported('a format inside a string')
  })
  return template(parts)
}
