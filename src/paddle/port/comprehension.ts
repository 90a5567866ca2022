/** @file What loops and comprehensions run over, and comprehensions themselves: `[f(i) for i in range(n)]` is `range(n).map((i) => f(i))`. */
import type { Expression, ListComp } from './ast.ts'
import type { Scope } from './house.ts'
import { variableName } from './names.ts'
import { condition } from './operators.ts'
import { evaluate, type Iteration } from './recursion.ts'
import { Unported } from './session.ts'
import { feedText } from './subscript.ts'
import { type Expr, list, num, said, truth, type Value } from './value.ts'

export function iterate(scope: Scope, node: Expression): Iteration {
  if (node._ === 'Call' && node.func._ === 'Name' && !scope.frame.vars.has(node.func.id)) {
    const own = ITERATORS[node.func.id]
    if (own) return own(scope, node.args)
  }
  return overList(evaluate(scope, node))
}

const ITERATORS: Readonly<Record<string, (scope: Scope, args: readonly Expression[]) => Iteration>> = {
  range: (scope, args) =>
    rangeOf(
      scope,
      args.map((own) => evaluate(scope, own)),
    ),
  enumerate: (scope, [of]) => {
    const inner = iterate(scope, of!)
    if (!inner.isArray) throw new Unported('enumerate of what is no list')
    return {
      items: inner.items.map((item, i) => list([num(i), item], true)),
      text: `${inner.text}.entries()`,
      isArray: false,
    }
  },
  zip: (scope, args) => {
    const parts = args.map((own) => iterate(scope, own))
    const length = Math.min(...parts.map(({ items }) => items.length))
    const items = Array.from({ length }, (_, i) =>
      list(
        parts.map((part) => part.items[i]!),
        true,
      ),
    )
    const [first, ...more] = parts
    const text = `${first!.text}.map((own, i) => [own, ${more.map((part) => `${part.text}[i]!`).join(', ')}] as const)`
    return { items, text, isArray: true }
  },
}

function rangeOf(scope: Scope, args: readonly Expr[]): Iteration {
  const numbers = args.map(({ value }) => {
    if (value.kind !== 'number') throw new Unported(`range of ${said(value)}`)
    return value.value
  })
  const [from, to, step] = numbers.length === 1 ? [0, numbers[0]!, 1] : [numbers[0]!, numbers[1]!, numbers[2] ?? 1]
  if (step !== 1) throw new Unported('range with a step')
  scope.session.help('range')
  const [start, end] = args.length === 1 ? ['0', args[0]!.text] : [args[0]!.text, args[1]!.text]
  return {
    items: Array.from({ length: Math.max(0, to - from) }, (_, i) => num(from + i)),
    text: start === '0' ? `range(0, ${end})` : `range(${start}, ${end})`,
    counting: (name) => `for (let ${name} = ${start}; ${name} < ${end}; ${name}++)`,
    isArray: true,
  }
}

function overList({ value, text }: Expr): Iteration {
  if (value.kind === 'list') return { items: value.items, text, isArray: true }
  if (value.kind === 'layer' && value.list) return { items: value.list, text: `${text}.list`, isArray: true }
  if (value.kind === 'dict')
    return {
      items: [...value.entries.keys()].map((key) => ({ kind: 'string', value: key })),
      text: `Object.keys(${text})`,
      isArray: true,
    }
  throw new Unported(`a loop over ${said(value)}`)
}

export function evaluateList(scope: Scope, node: ListComp): Expr {
  if (node.generators.length !== 1) throw new Unported('a comprehension of several loops')
  const { target, iter, ifs } = node.generators[0]!
  const over = iterate(scope, iter)
  if (!over.isArray) throw new Unported('a comprehension over enumerate')
  const kept: Value[] = []
  const [elements, tests] = [new Set<string>(), new Set<string>()]
  for (const item of over.items) {
    const inner: Scope = { ...scope, frame: { ...scope.frame, vars: new Map(scope.frame.vars) } }
    bindTarget(inner, target, item)
    const passed = ifs.map((own) => evaluate(inner, own))
    for (const test of passed) tests.add(condition(test))
    scope.frame.record.builder ??= inner.frame.record.builder
    if (!passed.every(({ value }) => truth(value) === true)) continue
    const element = evaluate(inner, node.elt)
    elements.add(element.text)
    kept.push(element.value)
  }
  if (elements.size === 0) throw new Unported('a comprehension that is empty with this config')
  if (elements.size > 1 || tests.size > 1) throw new Unported('a comprehension whose elements are of different kinds')
  const name = targetText(target)
  const filter = tests.size === 1 ? `.filter((${name}) => ${[...tests][0]})` : ''
  const [element] = elements
  const body = element!.startsWith('{') ? `(${element})` : element
  const text = element === name ? `${over.text}${filter}` : `${over.text}${filter}.map((${name}) => ${body})`
  return { value: list(kept), text: feedText(scope, kept) ?? text, atom: true }
}

/** Gives the variables of a loop their values. */
export function bindTarget({ frame }: Scope, target: Expression, value: Value): void {
  if (target._ === 'Name') {
    frame.vars.set(target.id, { value, text: variableName(target.id), atom: true })
    return
  }
  if (target._ !== 'Tuple' && target._ !== 'List') throw new Unported('a loop whose variable is no name')
  if (value.kind !== 'list' || value.items.length !== target.elts.length)
    throw new Unported('a loop over what has another number of parts')
  for (const [i, own] of target.elts.entries()) bindTarget({ frame } as Scope, own, value.items[i]!)
}

export function targetText(target: Expression): string {
  if (target._ === 'Name') return variableName(target.id)
  if (target._ === 'Tuple' || target._ === 'List') return `[${target.elts.map(targetText).join(', ')}]`
  throw new Unported('a loop whose variable is no name')
}

export function targetNames(target: Expression): readonly string[] {
  if (target._ === 'Name') return [target.id]
  return target._ === 'Tuple' || target._ === 'List' ? target.elts.flatMap(targetNames) : []
}
