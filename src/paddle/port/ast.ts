/** @file Python's syntax tree as python/oarfish_ast.py prints it: the kinds that are read here; every other kind is `Other`. */

interface Place {
  readonly line: number
  readonly end: number
}

export interface Name extends Place {
  readonly _: 'Name'
  readonly id: string
}
export interface Constant extends Place {
  readonly _: 'Constant'
  readonly value?: string | number | boolean | null
  /** Written with a point or an exponent. */
  readonly float?: boolean
  /** What JSON cannot hold, as Python prints it. */
  readonly other?: string
}
export interface Attribute extends Place {
  readonly _: 'Attribute'
  readonly value: Expression
  readonly attr: string
}
export interface Keyword {
  readonly _: 'keyword'
  readonly arg: string | null
  readonly value: Expression
}
export interface Call extends Place {
  readonly _: 'Call'
  readonly func: Expression
  readonly args: readonly Expression[]
  readonly keywords: readonly Keyword[]
}
export interface Sequence extends Place {
  readonly _: 'List' | 'Tuple'
  readonly elts: readonly Expression[]
}
export interface Dict extends Place {
  readonly _: 'Dict'
  readonly keys: readonly (Expression | null)[]
  readonly values: readonly Expression[]
}
export interface BinOp extends Place {
  readonly _: 'BinOp'
  readonly left: Expression
  readonly op: { readonly _: string }
  readonly right: Expression
}
export interface UnaryOp extends Place {
  readonly _: 'UnaryOp'
  readonly op: { readonly _: string }
  readonly operand: Expression
}
export interface BoolOp extends Place {
  readonly _: 'BoolOp'
  readonly op: { readonly _: 'And' | 'Or' }
  readonly values: readonly Expression[]
}
export interface Compare extends Place {
  readonly _: 'Compare'
  readonly left: Expression
  readonly ops: readonly { readonly _: string }[]
  readonly comparators: readonly Expression[]
}
export interface IfExp extends Place {
  readonly _: 'IfExp'
  readonly test: Expression
  readonly body: Expression
  readonly orelse: Expression
}
export interface Slice extends Place {
  readonly _: 'Slice'
  readonly lower: Expression | null
  readonly upper: Expression | null
  readonly step: Expression | null
}
export interface Subscript extends Place {
  readonly _: 'Subscript'
  readonly value: Expression
  readonly slice: Expression
}
export interface Comprehension {
  readonly target: Expression
  readonly iter: Expression
  readonly ifs: readonly Expression[]
}
export interface ListComp extends Place {
  readonly _: 'ListComp' | 'GeneratorExp'
  readonly elt: Expression
  readonly generators: readonly Comprehension[]
}
export interface JoinedStr extends Place {
  readonly _: 'JoinedStr'
  readonly values: readonly Expression[]
}
export interface FormattedValue extends Place {
  readonly _: 'FormattedValue'
  readonly value: Expression
  readonly format_spec: Expression | null
}
interface OtherExpression extends Place {
  readonly _: 'Lambda' | 'Starred' | 'Set' | 'DictComp' | 'SetComp' | 'Await' | 'Yield' | 'YieldFrom' | 'NamedExpr'
}
export type Expression =
  | Name
  | Constant
  | Attribute
  | Call
  | Sequence
  | Dict
  | BinOp
  | UnaryOp
  | BoolOp
  | Compare
  | IfExp
  | Slice
  | Subscript
  | ListComp
  | JoinedStr
  | FormattedValue
  | OtherExpression

export interface Assign extends Place {
  readonly _: 'Assign'
  readonly targets: readonly Expression[]
  readonly value: Expression
}
export interface AugAssign extends Place {
  readonly _: 'AugAssign'
  readonly target: Expression
  readonly op: { readonly _: string }
  readonly value: Expression
}
export interface ExpressionStatement extends Place {
  readonly _: 'Expr'
  readonly value: Expression
}
export interface Return extends Place {
  readonly _: 'Return'
  readonly value: Expression | null
}
export interface If extends Place {
  readonly _: 'If'
  readonly test: Expression
  readonly body: readonly Statement[]
  readonly orelse: readonly Statement[]
}
export interface For extends Place {
  readonly _: 'For'
  readonly target: Expression
  readonly iter: Expression
  readonly body: readonly Statement[]
  readonly orelse: readonly Statement[]
}
export interface Arguments {
  readonly posonlyargs?: readonly { readonly arg: string }[]
  readonly args: readonly { readonly arg: string }[]
  readonly kwonlyargs: readonly { readonly arg: string }[]
  readonly defaults: readonly Expression[]
  readonly kw_defaults: readonly (Expression | null)[]
  readonly vararg: { readonly arg: string } | null
  readonly kwarg: object | null
}
export interface FunctionDef extends Place {
  readonly _: 'FunctionDef'
  readonly name: string
  readonly args: Arguments
  readonly body: readonly Statement[]
  readonly decorator_list: readonly Expression[]
}
export interface ClassDef extends Place {
  readonly _: 'ClassDef'
  readonly name: string
  readonly bases: readonly Expression[]
  readonly body: readonly Statement[]
}
export interface Import extends Place {
  readonly _: 'Import'
  readonly names: readonly { readonly name: string; readonly asname: string | null }[]
}
export interface ImportFrom extends Place {
  readonly _: 'ImportFrom'
  readonly module: string | null
  readonly names: readonly { readonly name: string; readonly asname: string | null }[]
}
interface OtherStatement extends Place {
  readonly _: 'Assert' | 'Raise' | 'Pass' | 'Break' | 'Continue' | 'While' | 'With' | 'Try' | 'Delete' | 'Global'
}
export type Statement =
  | Assign
  | AugAssign
  | ExpressionStatement
  | Return
  | If
  | For
  | FunctionDef
  | ClassDef
  | Import
  | ImportFrom
  | OtherStatement

export interface Module {
  readonly _: 'Module'
  readonly body: readonly Statement[]
}

/** One file: its tree, its lines, and the name it goes by in comments. */
export interface PythonFile {
  readonly path: string
  readonly name: string
  readonly lines: readonly string[]
  readonly tree: Module
}

/** `net.py:31: self.fc = nn.Linear(...)`: the statement on one line, cut where it is long. */
export function quoted({ name, lines }: PythonFile, { line, end }: Place, most = 120): string {
  const text = lines
    .slice(line - 1, end)
    .map((own) => own.trim())
    .join(' ')
  return `${name}:${line}: ${text.length > most ? `${text.slice(0, most - 3)}...` : text}`
}
