/** @file What Python's expressions come to while a net is followed: numbers and lists as they are, tensors as symbols; and their types in TypeScript. */
import type { Layer, SparseSlot, Variable } from '../../graph/nn/index.ts'
import type { Dim, Initializer, Tensor } from '../../graph/program/index.ts'
import type { ClassDef, Expression, FunctionDef, PythonFile } from './ast.ts'

/** A class of the user's, and the file it stands in. */
export interface PythonClass {
  readonly node: ClassDef
  readonly file: PythonFile
  /** The class of the user's that it extends. */
  readonly parent: PythonClass | undefined
  readonly methods: ReadonlyMap<string, FunctionDef>
  /** Whether it is a layer: its base, or that one's, is paddle.nn.Layer. */
  readonly isLayer: boolean
}

/** An input of the model as create_feeds declares it: ids of a table, or a tensor. */
export interface Feed {
  /** The call that declares it; feeds of one call are of one kind. */
  readonly site: Expression
  readonly name: string
  /** The variable of create_feeds that holds it, and its place where that is a list; known when create_feeds has returned. */
  owner?: string | undefined
  index?: number | undefined
  /** Elements of that list. */
  count?: number | undefined
}

export type Value =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'none' }
  | { readonly kind: 'dim'; readonly dim: Dim }
  | { readonly kind: 'list'; readonly items: Value[]; readonly tuple?: boolean }
  | { readonly kind: 'dict'; readonly entries: Map<string, Value> }
  /** Without a tensor: one whose shape is not known, since it comes from something that was not translated. */
  | { readonly kind: 'tensor'; readonly tensor?: Tensor | undefined; readonly feed?: Feed | undefined }
  /** Ids of one or more slots side by side, for a table. */
  | {
      readonly kind: 'slots'
      readonly slots: readonly SparseSlot[]
      readonly many: boolean
      readonly feeds: readonly Feed[]
    }
  | { readonly kind: 'variable'; readonly tensor: Tensor; readonly variable: Variable | undefined }
  | LayerValue
  | ObjectValue
  | { readonly kind: 'class'; readonly own: PythonClass }
  | { readonly kind: 'method'; readonly self: ObjectValue; readonly node: FunctionDef }
  | { readonly kind: 'function'; readonly node: FunctionDef; readonly file: PythonFile }
  | { readonly kind: 'name'; readonly path: string }
  | { readonly kind: 'initializer'; readonly init: Initializer }
  | { readonly kind: 'regularizer'; readonly l2: number }
  | AttributesValue
  | { readonly kind: 'metric' }
  | { readonly kind: 'optimizer' }
  | { readonly kind: 'clip' }
  | { readonly kind: 'schedule' }
  | { readonly kind: 'config' }
  | { readonly kind: 'unknown'; readonly layer: boolean }

export interface LayerValue {
  readonly kind: 'layer'
  readonly type: string
  /** What a call of it gives; the text is made by the caller. */
  readonly forward: (x: Expr) => Expr
  /** Names of its parts, where it is a list of layers. */
  readonly list?: Value[] | undefined
  /** It lies in another layer already. */
  added: boolean
  readonly layer?: Layer | undefined
}

export interface ObjectValue {
  readonly kind: 'object'
  readonly own: PythonClass
  readonly fields: Map<string, Value>
  added: boolean
}

/** paddle.ParamAttr: the parts that were given. */
export interface AttributesValue {
  readonly kind: 'attributes'
  readonly init: Expr | undefined
  readonly l2: Expr | undefined
  readonly learningRate: Expr | undefined
  readonly trainable: Expr | undefined
}

/** An expression that was followed: what it comes to, and the TypeScript that computes it. */
export interface Expr {
  readonly value: Value
  readonly text: string
  /** Needs no parentheses where it stands in a larger expression. */
  readonly atom?: boolean
  /** Decided when the draft is made, such as whether this is a build for another device. */
  readonly fixed?: boolean
}

export const NONE: Value = { kind: 'none' }
export const UNKNOWN: Value = { kind: 'tensor' }
export const num = (value: number): Value => ({ kind: 'number', value })
export const str = (value: string): Value => ({ kind: 'string', value })
export const bool = (value: boolean): Value => ({ kind: 'boolean', value })
export const list = (items: Value[], tuple = false): Value => ({ kind: 'list', items, tuple })
export const tensorOf = (tensor: Tensor | undefined, feed?: Feed): Value => ({ kind: 'tensor', tensor, feed })

const SAID: Readonly<Partial<Record<Value['kind'], string>>> = {
  none: 'None',
  dim: 'a size that is known when it runs',
  dict: 'a dictionary',
  slots: 'ids, which are for a table',
  variable: 'a weight',
  object: 'an object',
  name: 'a module',
  initializer: 'an initializer',
  attributes: 'ParamAttr',
  optimizer: 'an optimizer',
  config: 'the config',
  unknown: 'something that was not translated',
}

/** What a value is, in words. */
export function said(value: Value): string {
  if (value.kind === 'tensor' && !value.tensor) return SAID.unknown!
  return SAID[value.kind] ?? `a ${value.kind}`
}

/** The type in TypeScript of everything that was seen in one place. */
export function typeOf(values: readonly Value[]): string {
  return joined(values.flatMap(typesOf))
}

function joined(types: readonly string[]): string {
  const all = [...new Set(types)]
  const known = all.filter((type) => type !== 'never[]' || !all.some((other) => other.endsWith('[]') && other !== type))
  return known.length === 0 ? 'nn.Tensor' : known.join(' | ')
}

function typesOf(value: Value): readonly string[] {
  switch (value.kind) {
    case 'number':
    case 'string':
    case 'boolean':
      return [value.kind]
    case 'none':
      return ['null']
    case 'dim':
      return ['nn.Dim']
    case 'list':
      return [listType(value.items, value.tuple ?? false)]
    case 'dict':
      return [`Record<string, ${typeOf([...value.entries.values()])}>`]
    case 'slots':
      return [value.many ? 'readonly nn.SparseSlot[]' : 'nn.SparseSlot']
    case 'variable':
      return ['nn.Variable']
    case 'layer':
      return [value.type]
    case 'object':
      return [value.own.node.name]
    case 'unknown':
      return [value.layer ? 'nn.Layer' : 'nn.Tensor']
    case 'initializer':
      return ['nn.Initializer']
    case 'metric':
      return ['ReturnType<typeof metric.auc>']
    case 'optimizer':
      return ['OptimizerSpec']
    default:
      return ['nn.Tensor']
  }
}

function listType(items: readonly Value[], tuple: boolean): string {
  if (tuple && items.length > 0) return `readonly [${items.map((item) => typeOf([item])).join(', ')}]`
  if (items.length === 0) return 'never[]'
  // Lists within a list are joined element by element, so that an empty one takes the type of its neighbours.
  const inner = items.every((item) => item.kind === 'list' && !item.tuple)
    ? [
        listType(
          items.flatMap((item) => (item.kind === 'list' ? item.items : [])),
          false,
        ),
      ]
    : [typeOf(items)]
  const type = joined(inner)
  return type.includes(' ') ? `(${type})[]` : `${type}[]`
}

/** Python's truth of a value; undefined for what has none here. */
export function truth(value: Value): boolean | undefined {
  switch (value.kind) {
    case 'number':
    case 'string':
    case 'boolean':
      return Boolean(value.value)
    case 'none':
      return false
    case 'list':
      return value.items.length > 0
    case 'dict':
      return value.entries.size > 0
    case 'object':
    case 'layer':
    case 'variable':
      return true
    default:
      return undefined
  }
}

/** What Python's == says of two plain values; undefined where tensors are compared. */
export function same(a: Value, b: Value): boolean | undefined {
  if (a.kind === 'tensor' || b.kind === 'tensor' || a.kind === 'dim' || b.kind === 'dim') return undefined
  if (a.kind !== b.kind) return false
  if (a.kind === 'none') return true
  if (a.kind === 'list' && b.kind === 'list')
    return a.items.length === b.items.length && a.items.every((item, i) => same(item, b.items[i]!))
  if ('value' in a && 'value' in b) return a.value === b.value
  return a === b
}
