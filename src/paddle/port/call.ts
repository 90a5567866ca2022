/** @file Calls: of the user's classes and methods, which are followed; of layers; of Paddle and Python, by the table. */
import type { Call, Expression, FunctionDef, PythonFile } from './ast.ts'
import { CALLS, METHODS } from './calls/index.ts'
import { bound, type Given, givenTo } from './given.ts'
import { operandText, type Scope } from './house.ts'
import { memberOf } from './member.ts'
import { modelCall } from './model-call.ts'
import { variableName } from './names.ts'
import { isTensor } from './operators.ts'
import { evaluate, follow } from './recursion.ts'
import { type Frame, Unported } from './session.ts'
import { type Expr, NONE, type ObjectValue, type PythonClass, said, type Value } from './value.ts'

export function evaluateCall(scope: Scope, node: Call): Expr {
  const { func } = node
  if (func._ === 'Attribute') {
    const superCall = callOfSuper(scope, node)
    if (superCall) return superCall
    const own = methodCall(scope, node, func.value, func.attr)
    if (own) return own
  }
  const callee = evaluate(scope, func)
  const { value } = callee
  switch (value.kind) {
    case 'name':
      return tableCall(scope, node, canonical(value.path))
    case 'class':
      return construct(scope, value.own, givenTo(scope, node))
    case 'method':
      return callMethod(scope, callee, value.self, value.node, givenTo(scope, node))
    case 'function':
      return callFunction(scope, callee.text, value.node, value.file, givenTo(scope, node))
    case 'object':
      return callMethod(scope, memberOf(scope, callee, 'forward'), value, forwardOf(value), givenTo(scope, node))
    case 'layer':
      return callLayer(scope, callee, givenTo(scope, node))
    case 'unknown':
      throw new Unported('it calls a layer that was not translated')
    default:
      throw new Unported(`a call of ${said(value)}`)
  }
}

/** `paddle.nn.functional.relu` however it was imported. */
export function canonical(path: string): string {
  return path
    .replace(/^paddle\.(fluid\.)?(param_attr|framework)\.ParamAttr$/, 'paddle.ParamAttr')
    .replace(/^paddle\.nn\.layer\.(\w+\.)?/, 'paddle.nn.')
    .replace(/^paddle\.(tensor|framework|base)\./, 'paddle.')
    .replace(/^paddle\.static\.create_parameter$/, 'paddle.create_parameter')
}

function tableCall(scope: Scope, node: Call, path: string): Expr {
  const row = CALLS.get(path)
  if (!row) throw new Unported(`${path} is not in the table of calls`)
  if (!row.translate) throw new Unported(`${path}: ${row.reason}`)
  return row.translate(scope, row.raw ? {} : bound(row.params, givenTo(scope, node), path), node)
}

/** x.sum(...), list.append(...), self.add_sublayer(...); undefined where the object has a method of its own. */
function methodCall(scope: Scope, node: Call, of: Expression, name: string): Expr | undefined {
  if (of._ === 'Name' && of.id === 'self' && scope.frame.model) return modelCall(scope, node, name)
  const base = evaluate(scope, of)
  const kind = isTensor(base.value) ? 'Tensor' : base.value.kind
  if (kind === 'name') return undefined
  if (base.value.kind === 'object' && (base.value.own.methods.has(name) || base.value.fields.has(name)))
    return undefined
  if (base.value.kind === 'layer' && name === 'forward') return callLayer(scope, base, givenTo(scope, node))
  const row = METHODS.get(`${kind}.${name}`)
  if (!row?.translate) throw new Unported(row?.reason ?? `.${name}() of ${said(base.value)}`)
  return row.translate(scope, { ...bound(row.params, givenTo(scope, node), `.${name}()`), self: base }, node)
}

/** super().__init__(...): its place in TypeScript is fixed, so it is written with the constructor. */
function callOfSuper(scope: Scope, { func, args, keywords }: Call): Expr | undefined {
  if (func._ !== 'Attribute' || func.attr !== '__init__') return undefined
  const { self } = scope.frame
  const isSuper = func.value._ === 'Call' && func.value.func._ === 'Name' && func.value.func.id === 'super'
  if (!isSuper) return undefined
  const parent = self && classOfFrame(scope, self)?.parent
  const init = parent?.methods.get('__init__')
  if (!self || !init || !parent) return { value: NONE, text: '' }
  const given = givenTo(scope, { args, keywords })
  const texts = followWith(scope, { node: init, file: parent.file, self, given })
  return { value: NONE, text: `super(${texts.text})` }
}

/** The class whose method is followed now, which may be one that the object's class extends. */
function classOfFrame({ frame }: Scope, { own }: ObjectValue): PythonClass | undefined {
  let found: PythonClass | undefined = own
  while (found && !found.node.body.includes(frame.record.node)) found = found.parent
  return found
}

function construct(scope: Scope, own: PythonClass, given: Given): Expr {
  const [base] = own.node.bases
  if (!own.isLayer && !own.parent && base && !(base._ === 'Name' && base.id === 'object'))
    throw new Unported(`${own.node.name} extends a layer of Paddle's`)
  const self: ObjectValue = { kind: 'object', own, fields: new Map(), added: false }
  for (let at: PythonClass | undefined = own; at; at = at.parent) scope.session.used.add(at)
  const init = own.methods.get('__init__')
  if (!init) return { value: self, text: `new ${own.node.name}()`, atom: true }
  const { text } = followWith(scope, { node: init, file: own.file, self, given })
  return { value: self, text: `new ${own.node.name}(${text})`, atom: true }
}

function forwardOf({ own }: ObjectValue): FunctionDef {
  const forward = own.methods.get('forward') ?? own.methods.get('__call__')
  if (forward) return forward
  throw new Unported(`${own.node.name} has no forward`)
}

function callMethod(scope: Scope, callee: Expr, self: ObjectValue, node: FunctionDef, given: Given): Expr {
  const { text, result } = followWith(scope, { node, file: self.own.file, self, given })
  return { value: result, text: `${callee.text}(${text})`, atom: true }
}

function callFunction(scope: Scope, name: string, node: FunctionDef, file: PythonFile, given: Given): Expr {
  const { text, result } = followWith(scope, { node, file, self: undefined, given })
  return { value: result, text: `${name}(${text})`, atom: true }
}

interface Followed {
  readonly node: FunctionDef
  readonly file: PythonFile
  readonly self: ObjectValue | undefined
  readonly given: Given
}

/** Follows a function with these arguments; gives their text in the order of its parameters. */
function followWith({ session }: Scope, { node, file, self, given }: Followed): { text: string; result: Value } {
  // **kwargs that no call gives anything is nothing; what is given is refused by its name.
  if (node.args.vararg) throw new Unported(`${node.name} takes *${node.args.vararg.arg}`)
  if ([...given.args, ...given.keywords.values()].some(({ value }) => value.kind === 'config'))
    throw new Unported(`${node.name} is given the config: give it the values`)
  const record = session.record(node, file)
  const names = node.args.args.map(({ arg }) => arg).slice(self ? 1 : 0)
  const byName = bound(names, given, node.name)
  const vars = new Map<string, Expr>()
  const frame: Frame = { record, file, vars, self, model: undefined, substitute: false, target: undefined }
  const texts = names.map((name, i) => {
    const typed = byName[name]
    const defaulted = node.args.defaults[i - (names.length - node.args.defaults.length)]
    if (!typed && !defaulted) throw new Unported(`${node.name} without ${name}`)
    const usual = typed ? undefined : evaluate({ session, frame }, defaulted!)
    if (usual) record.defaults.set(name, usual.text)
    const { value } = typed ?? usual!
    vars.set(name, { value, text: variableName(name), atom: true })
    record.params.set(name, [...(record.params.get(name) ?? []), value])
    return typed?.text
  })
  const result = follow({ session, frame })
  const written = texts.slice(0, texts.findLastIndex((text) => text !== undefined) + 1)
  return { text: written.map((text) => text ?? 'undefined').join(', '), result }
}

function callLayer(scope: Scope, callee: Expr, { args, keywords }: Given): Expr {
  const x = args[0] ?? [...keywords.values()][0]
  if (callee.value.kind !== 'layer' || !x || args.length + keywords.size !== 1)
    throw new Unported('a layer called with several arguments')
  const { value, text } = callee.value.forward(x)
  return {
    value,
    text: text === '' ? `${callee.text}.forward(${operandText(scope, x)})` : text.replace('$', () => callee.text),
    atom: true,
  }
}
