/** @file x[...]: of lists, tuples, dictionaries, shapes and tensors. */
import type { Expression } from './ast.ts'
import { house, type Scope } from './house.ts'
import { keyText, variableName } from './names.ts'
import { grouped, isTensor } from './operators.ts'
import { evaluate } from './recursion.ts'
import { Unported } from './session.ts'
import { type Expr, type Feed, list, num, said, type Value } from './value.ts'

export function subscript(scope: Scope, base: Expr, index: Expression): Expr {
  const { value } = base
  if (isTensor(value)) return tensorPart(scope, base, index)
  if (value.kind === 'list') return listPart(scope, base, value.items, index)
  if (value.kind === 'layer' && value.list)
    return listPart(scope, { ...base, text: `${base.text}.list` }, value.list, index)
  if (value.kind === 'dict') {
    const key = evaluate(scope, index)
    const found = key.value.kind === 'string' ? value.entries.get(key.value.value) : undefined
    if (!found || key.value.kind !== 'string') throw new Unported('a key that the dictionary has not')
    const text = index._ === 'Constant' ? `${base.text}${dotted(key.value.value)}` : `${base.text}[${key.text}]!`
    return { value: found, text: index._ === 'Constant' ? `${text}!` : text, atom: true }
  }
  if (value.kind === 'slots' && value.many) throw new Unported('columns of ids')
  throw new Unported(`an element of ${said(value)}`)
}

const dotted = (name: string) => (keyText(name) === name ? `['${name}']` : `[${keyText(name)}]`)

function listPart(scope: Scope, base: Expr, items: readonly Value[], index: Expression): Expr {
  if (index._ === 'Slice') return listSlice(scope, base, items, index)
  const at = evaluate(scope, index)
  if (at.value.kind !== 'number') throw new Unported(`an element of a list at ${said(at.value)}`)
  const n = at.value.value
  const item = items.at(n)
  if (!item || n < -items.length) throw new Unported(`element ${n} of a list of ${items.length}`)
  if (base.text.endsWith('.shape')) return dimension(base, at, item)
  const tuple = base.value.kind === 'list' && base.value.tuple
  if (tuple && index._ === 'Constant') return named(scope, item, `${base.text}[${n}]`)
  return named(scope, item, n < 0 ? `${grouped(base)}.at(${at.text})!` : `${grouped(base)}[${at.text}]!`)
}

/** An element that is an input of the model goes by the input's name. */
function named(scope: Scope, item: Value, text: string): Expr {
  const feed = feedText(scope, [item])
  return { value: item, text: feed ?? text, atom: true }
}

function dimension(base: Expr, at: Expr, item: Value): Expr {
  const n = at.value.kind === 'number' ? at.value.value : 0
  const text = n < 0 ? `${base.text}.at(${at.text})!` : `${base.text}[${at.text}]!`
  return { value: item, text: item.kind === 'number' ? `Number(${text})` : text, atom: true }
}

function listSlice(
  scope: Scope,
  base: Expr,
  items: readonly Value[],
  { lower, upper, step }: Extract<Expression, { _: 'Slice' }>,
): Expr {
  if (step) throw new Unported('every n-th element')
  const [from, to] = [lower, upper].map((own) => own && evaluate(scope, own))
  const bound = (expr: Expr | null | undefined): number | undefined => {
    if (!expr) return undefined
    if (expr.value.kind !== 'number') throw new Unported(`a part of a list up to ${said(expr.value)}`)
    return expr.value.value
  }
  const part = items.slice(bound(from) ?? 0, bound(to))
  const args = [from?.text ?? '0', to?.text].filter((own) => own !== undefined)
  const text = feedText(scope, part) ?? `${grouped(base)}.slice(${args.join(', ')})`
  return { value: list(part), text, atom: true }
}

/** How the model's inputs are named where these values are exactly one of them, or one list of them. */
export function feedText({ frame }: Scope, items: readonly Value[]): string | undefined {
  if (!frame.model) return undefined
  const feeds = items.map(feedOf)
  const [first] = feeds
  if (!first?.owner || feeds.some((feed) => feed?.owner !== first.owner)) return undefined
  const text = `inputs.${variableName(first.owner)}`
  if (first.index === undefined) return items.length === 1 ? text : undefined
  if (items.length === 1) return `${text}[${first.index}]!`
  if (feeds.some((feed, i) => feed?.index !== first.index! + i)) return undefined
  const to = first.index + items.length
  if (first.index === 0 && to === first.count) return text
  return undefined
}

function feedOf(item: Value): Feed | undefined {
  if (item.kind === 'tensor') return item.feed
  return item.kind === 'slots' && !item.many ? item.feeds[0] : undefined
}

/** x[:, 0, 1:3]: the axes from the last to the first, so that numbers of axes stay what they are. */
function tensorPart(scope: Scope, base: Expr, index: Expression): Expr {
  const parts = index._ === 'Tuple' ? index.elts : [index]
  if (parts.some((own) => own._ === 'Constant' && (own.other !== undefined || own.value === null)))
    throw new Unported('... or None between brackets')
  return parts.reduceRight((x, part, axis) => {
    const number = (n: number): Expr => ({ value: num(n), text: String(n), atom: true })
    if (part._ === 'Slice') {
      if (part.step) throw new Unported('every n-th element')
      if (!part.lower && !part.upper) return x
      const lower = part.lower ? evaluate(scope, part.lower) : number(0)
      return house(scope, 'slice', x, number(axis), lower, part.upper ? evaluate(scope, part.upper) : undefined)
    }
    const at = evaluate(scope, part)
    if (at.value.kind !== 'number') throw new Unported(`${said(at.value)} between brackets`)
    const n = at.value.value
    const end =
      n === -1
        ? undefined
        : {
            value: num(n + 1),
            text: part._ === 'Constant' || part._ === 'UnaryOp' ? String(n + 1) : `${grouped(at)} + 1`,
          }
    return house(scope, 'squeeze', house(scope, 'slice', x, number(axis), at, end), number(axis))
  }, base)
}
