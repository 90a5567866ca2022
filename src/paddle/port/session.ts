/** @file What is known while one draft is made: classes, functions that were followed, the text of each statement, what was left. */
import { Builder } from '../../graph/program/index.ts'
import type { ClassDef, Expression, FunctionDef, PythonFile, Statement } from './ast.ts'
import type { Turns } from './recursion.ts'
import type { Expr, Feed, ObjectValue, PythonClass, Value } from './value.ts'

/** Something that has no translation; caught where a statement can stand for it. */
export class Unported extends Error {
  override readonly name = 'Unported'
}

/** The feeds or embeddings must be taken for something else: all is followed anew. */
export class Again extends Error {
  override readonly name = 'Again'
}

/** Small functions and classes that a draft brings along where it uses them. */
export type Helper = 'range' | 'Apply' | 'Sequential' | 'LayerList' | 'lookup' | 'DenseEmbedding' | 'unported'

/** What was not translated. */
export interface Gap {
  readonly file: PythonFile
  readonly node: { readonly line: number; readonly end: number }
  readonly reason: string
}

/** One statement in TypeScript; where it assigns to variables, their names and the pattern before the `=` are apart. */
export interface Written {
  readonly text: string
  readonly declares?: readonly string[] | undefined
  readonly pattern?: string | undefined
  /** Not translated: what stands above it is the Python line. */
  readonly gap?: boolean | undefined
}

/** One function or method, and what was seen each time it was followed. */
export interface FunctionRecord {
  readonly node: FunctionDef
  readonly file: PythonFile
  readonly params: Map<string, Value[]>
  readonly locals: Map<string, Value[]>
  /** The TypeScript of each statement, or of its head. */
  readonly texts: Map<Statement, readonly Written[]>
  /** Statements that were followed at least once. */
  readonly visited: Set<Statement>
  /** Defaults of parameters that some call leaves out, in TypeScript. */
  readonly defaults: Map<string, string>
  /** Statements that became something else when they were followed again. */
  readonly torn: Set<Statement>
  /** Tests that were decided when the draft was made. */
  readonly decided: Map<Statement, boolean>
  /** Branches and loops that were entered at least once. */
  readonly entered: Set<readonly Statement[]>
  /** Where the builder comes from, if a weight is used in it. */
  builder: string | undefined
}

/** The variables of one call. */
export interface Frame {
  readonly record: FunctionRecord
  readonly file: PythonFile
  readonly vars: Map<string, Expr>
  readonly self: ObjectValue | undefined
  /** `self` of StaticModel, whose fields become texts and variables instead of fields. */
  readonly model: Map<string, Expr> | undefined
  /** Nothing is written: assignments to the model's fields stand for their values. */
  readonly substitute: boolean
  /** What the value under evaluation will be called, as TypeScript. */
  target: string | undefined
}

export interface HyperParameters {
  /** `hyper_parameters` of the yaml. */
  readonly values: Record<string, unknown>
  /** Keys that the code asks for and the yaml has not, with the code's default. */
  readonly asked: Map<string, Value>
}

export interface SessionOptions {
  readonly files: readonly PythonFile[]
  readonly hyper: Record<string, unknown>
  readonly runner: Record<string, unknown>
}

/** What outlives a pass: how inputs and embeddings are to be taken. */
export interface Kinds {
  /** Feeds that are tensors, by the call that declares them; others are slots of a table. */
  readonly tensors: Set<Expression>
  /** Embeddings that are ordinary weights. */
  readonly dense: Set<Expression>
  /** Slots of the data by names of feeds, as the reader beside the model has them. */
  renamed: ReadonlyMap<string, string> | undefined
}

const MOST_STEPS = 400_000

export class Session {
  readonly builder = new Builder()
  readonly classes = new Map<string, PythonClass>()
  readonly functions = new Map<string, { readonly node: FunctionDef; readonly file: PythonFile }>()
  readonly records = new Map<FunctionDef, FunctionRecord>()
  /** Classes that were made, in the order of first use. */
  readonly used = new Set<PythonClass>()
  readonly helpers = new Set<Helper>()
  readonly gaps = new Map<string, Gap>()
  /** What was not followed, since the config does not lead there. */
  readonly skipped = new Map<string, Gap>()
  readonly notes = new Set<string>()
  /** How values of the net are called there. */
  readonly named = new Map<Value, string>()
  readonly feeds: Feed[] = []
  /** Everything that was assigned to the fields of a class. */
  readonly fields = new Map<PythonClass, Map<string, Value[]>>()
  /** What metrics are given: the outputs of the model. */
  readonly predictions: Expr[] = []
  /** StaticModel, and those of its methods that the net calls. */
  model: PythonClass | undefined
  readonly methods = new Set<FunctionDef>()
  /** What is minimized. */
  loss: Expr | undefined
  readonly hyper: HyperParameters
  readonly runner: Record<string, unknown>
  readonly kinds: Kinds
  readonly turns: Turns
  readonly files: readonly PythonFile[]
  /** Why a line of a method is one that was not followed. */
  unreached = 'not reached with this config'
  /** create_feeds is followed now. */
  declaring = false
  #steps = 0
  #names = 0

  constructor({ files, hyper, runner }: SessionOptions, kinds: Kinds, turns: Turns) {
    this.turns = turns
    this.files = files
    this.hyper = { values: hyper, asked: new Map() }
    this.runner = runner
    this.kinds = kinds
    for (const file of files) this.#index(file)
  }

  /** A loop that does not end in Python would not end here. */
  step(): void {
    this.#steps += 1
    if (this.#steps > MOST_STEPS) throw new Unported('following it takes too many steps')
  }

  /** A name for a weight of the graph that shapes are inferred with. */
  unique(): string {
    this.#names += 1
    return `v${this.#names}`
  }

  record(node: FunctionDef, file: PythonFile): FunctionRecord {
    const known = this.records.get(node)
    if (known) return known
    const own: FunctionRecord = {
      node,
      file,
      params: new Map(),
      locals: new Map(),
      texts: new Map(),
      visited: new Set(),
      defaults: new Map(),
      torn: new Set(),
      decided: new Map(),
      entered: new Set(),
      builder: undefined,
    }
    this.records.set(node, own)
    return own
  }

  gap(file: PythonFile, node: Gap['node'], reason: string): void {
    this.gaps.set(`${file.name}:${node.line}`, { file, node, reason })
  }

  /** Remembers what a field holds, for its type. */
  field(own: PythonClass, name: string, value: Value): void {
    const fields = this.fields.get(own) ?? new Map<string, Value[]>()
    this.fields.set(own, fields)
    fields.set(name, [...(fields.get(name) ?? []), value])
  }

  help(helper: Helper): void {
    this.helpers.add(helper)
  }

  #index(file: PythonFile): void {
    for (const node of file.tree.body) {
      if (node._ === 'FunctionDef') this.functions.set(node.name, { node, file })
      if (node._ === 'ClassDef') this.classes.set(node.name, this.#classOf(node, file))
    }
  }

  #classOf(node: ClassDef, file: PythonFile): PythonClass {
    const base = node.bases[0]
    const parent = base?._ === 'Name' ? this.classes.get(base.id) : undefined
    const own = node.body.flatMap((part) => (part._ === 'FunctionDef' ? [[part.name, part] as const] : []))
    return {
      node,
      file,
      parent,
      methods: new Map([...(parent?.methods ?? []), ...own]),
      isLayer: parent?.isLayer ?? isLayerName(base),
    }
  }
}

export function isLayerName(base: Expression | undefined): boolean {
  return (base?._ === 'Attribute' && base.attr === 'Layer') || (base?._ === 'Name' && base.id === 'Layer')
}
