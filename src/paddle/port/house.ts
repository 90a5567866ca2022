/** @file A call of a function of oarfish/nn, made twice: with symbols, so that shapes are known and checked, and as text. */
import { UserError } from '../../base/util/index.ts'
import * as layers from '../../graph/nn/index.ts'
import type { Tensor } from '../../graph/program/index.ts'
import * as ops from '../../graph/program/index.ts'
import { Again, type Frame, type Session, Unported } from './session.ts'
import { type Expr, said, tensorOf, UNKNOWN, type Value } from './value.ts'

const FUNCTIONS = { ...ops, ...layers } as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>

export interface Scope {
  readonly session: Session
  readonly frame: Frame
}

class UnknownShape extends Error {}

/** `nn.<name>(args)`. Arguments that are left out at the end are not written. */
export function house(scope: Scope, name: string, ...args: readonly (Expr | undefined)[]): Expr {
  const given = args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1)
  const text = `nn.${name}(${given.map((arg) => (arg ? operandText(scope, arg) : 'undefined')).join(', ')})`
  return { value: resultOf(name, given), text, atom: true }
}

/** A text with a value that a function of the house gives for these operands. */
export function computed(text: string, compute: () => unknown): Expr {
  return { value: guarded(compute), text, atom: true }
}

function resultOf(name: string, args: readonly (Expr | undefined)[]): Value {
  const own = FUNCTIONS[name]
  if (!own) throw new Error(`internal: oarfish/nn has no ${name}`)
  return guarded(() => own(...args.map((arg) => arg && plain(arg.value))))
}

function guarded(compute: () => unknown): Value {
  try {
    return wrapped(compute())
  } catch (error) {
    if (error instanceof UnknownShape) return UNKNOWN
    if (error instanceof UserError) throw new Unported(error.message)
    throw error
  }
}

function wrapped(result: unknown): Value {
  if (Array.isArray(result)) return { kind: 'list', items: result.map(wrapped) }
  return tensorOf(result as Tensor)
}

/** What a function of the house takes for a value. */
export function plain(value: Value): unknown {
  switch (value.kind) {
    case 'number':
    case 'string':
    case 'boolean':
      return value.value
    case 'none':
      return undefined
    case 'dim':
      return value.dim
    case 'list':
      return value.items.map(plain)
    case 'tensor':
      if (!value.tensor) throw new UnknownShape()
      return value.tensor
    case 'variable':
      return value.tensor
    case 'unknown':
      throw new UnknownShape()
    default:
      throw new Unported(`${said(value)} stands where a tensor or a number is expected`)
  }
}

/** A tensor's symbol; undefined where its shape is not known. */
export function symbolOf(value: Value): Tensor | undefined {
  if (value.kind === 'tensor' || value.kind === 'variable') return value.tensor
  if (value.kind === 'unknown') return undefined
  throw new Unported(`${said(value)} stands where a tensor is expected`)
}

/** The text of an operand: a weight is asked for its tensor in this graph. */
export function operandText(scope: Scope, { value, text }: Expr): string {
  const { frame } = scope
  asTensors(scope, value.kind === 'list' ? value.items : [value])
  if (value.kind === 'none') return 'undefined'
  if (value.kind === 'object' || value.kind === 'layer')
    throw new Unported(`${said(value)} stands where a tensor is expected`)
  if (value.kind === 'list' && value.items.some(({ kind }) => kind === 'variable')) {
    if (!value.items.every(({ kind }) => kind === 'variable'))
      throw new Unported('weights and other tensors in one list')
    return `${text}.map((own) => own.on(${builderOf(frame)}))`
  }
  return value.kind === 'variable' ? `${text}.on(${builderOf(frame)})` : text
}

/** Ids that are computed with are tensors, not slots of a table: all is followed again with them as such. */
export function asTensors({ session }: Scope, values: readonly Value[]): void {
  const feeds = values.flatMap((value) => (value.kind === 'slots' ? value.feeds : []))
  if (feeds.length === 0) return
  for (const { site } of feeds) session.kinds.tensors.add(site)
  throw new Again()
}

/** The variable that holds the builder in this function; it comes from the first parameter that has one. */
export function builderOf(frame: Frame): string {
  if (frame.record.builder) return 'builder'
  for (const [name, { value, text }] of frame.vars) {
    if (!frame.record.params.has(name)) continue
    const source = builderText(value, text)
    if (!source) continue
    frame.record.builder = source
    return 'builder'
  }
  throw new Unported('a weight is used in a function that is given no tensor')
}

function builderText(value: Value, text: string): string | undefined {
  if (value.kind === 'tensor') return `${text}.builder`
  if (value.kind === 'slots') return value.many ? `${text}[0]!.builder` : `${text}.builder`
  if (value.kind === 'list') return value.items[0] && builderText(value.items[0], `${text}[0]!`)
  return undefined
}
