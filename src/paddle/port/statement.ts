/** @file Follows statements with the values of the config, and keeps the TypeScript of each. */
import { assign, assignUnknown } from './assign.ts'
import type { Expression, For, If, Statement } from './ast.ts'
import { bindTarget, iterate, targetText } from './comprehension.ts'
import type { Scope } from './house.ts'
import { literal } from './names.ts'
import { binary, condition } from './operators.ts'
import { evaluate } from './recursion.ts'
import { Unported, type Written } from './session.ts'
import { type Expr, list, NONE, truth, typeOf, UNKNOWN, type Value } from './value.ts'

type End = { readonly kind: 'return'; readonly value: Value } | { readonly kind: 'break' | 'continue' }

/** Follows the body of the frame's function; gives what it returns. */
export function follow(scope: Scope): Value {
  const end = block(scope, scope.frame.record.node.body)
  return end?.kind === 'return' ? end.value : NONE
}

function block(scope: Scope, body: readonly Statement[]): End | undefined {
  scope.frame.record.entered.add(body)
  for (const statement of body) {
    const end = execute(scope, statement)
    if (end) return end
  }
  return undefined
}

function execute(scope: Scope, node: Statement): End | undefined {
  scope.session.step()
  scope.frame.record.visited.add(node)
  switch (node._) {
    case 'Expr':
      if (node.value._ !== 'Constant') expressionStatement(scope, node, node.value)
      return undefined
    case 'Assign':
      return assignment(scope, node, node.targets, () => evaluate(scope, node.value), node.value)
    case 'AugAssign':
      return assignment(
        scope,
        node,
        [node.target],
        () => binary(scope, node.op._, evaluate(scope, node.target), evaluate(scope, node.value)),
        node.value,
      )
    case 'Return':
      return returned(scope, node, node.value)
    case 'If':
      return branch(scope, node)
    case 'For':
      return loop(scope, node)
    case 'Break':
    case 'Continue':
      write(scope, node, [{ text: node._.toLowerCase() }])
      return { kind: node._ === 'Break' ? 'break' : 'continue' }
    case 'Import':
    case 'ImportFrom':
      return imported(scope, node)
    case 'Pass':
    case 'Assert':
      return undefined
    default:
      gap(scope, node, BLOCKS[node._] ?? `Python's ${node._}`)
      return undefined
  }
}

const BLOCKS: Readonly<Record<string, string>> = {
  FunctionDef: 'a function within a function: make it a method',
  ClassDef: 'a class within a function',
  With: 'a with block',
  While: 'a while loop',
  Try: 'a try block',
  Raise: 'an error that is raised: throw new Error(text)',
}

/** Keeps the text of a statement. One that reads otherwise than before cannot be written once. */
export function write(scope: Scope, node: Statement, written: readonly Written[]): void {
  const { record } = scope.frame
  if (scope.frame.substitute || record.torn.has(node)) return
  const known = record.texts.get(node)
  if (known && JSON.stringify(known) !== JSON.stringify(written)) {
    record.torn.add(node)
    const [was, is] = [known, written].map((own) => own.map(({ text }) => text).join('; '))
    gap(
      scope,
      node,
      known.some((own) => own.gap) || written.some((own) => own.gap)
        ? 'it is not translated each time'
        : `it is "${was}" once and "${is}" another time`,
      true,
    )
    return
  }
  record.texts.set(node, written)
}

function gap(scope: Scope, node: Statement, reason: string, force = false): void {
  const { file, record, substitute } = scope.frame
  scope.session.gap(file, node, reason)
  if (substitute) return
  scope.session.help('unported')
  const known = force ? record.texts.get(node)?.[0] : undefined
  const declares = known?.declares ?? []
  const text =
    declares.length > 0
      ? unportedText(scope, node, typeOf(record.locals.get(declares[0]!) ?? []), reason)
      : `throw ${unportedText(scope, node, 'Error', reason)}`
  record.texts.set(node, [{ text, declares: known?.declares, pattern: known?.pattern, gap: true }])
}

/** `unported<nn.Tensor>('net.py:31: reason')`. */
export function unportedText(
  { session, frame: { file } }: Scope,
  { line }: { readonly line: number },
  type: string,
  reason: string,
): string {
  session.help('unported')
  return `unported<${type}>(${literal(`${file.name}:${line}: ${reason}`)})`
}

function expressionStatement(scope: Scope, node: Statement, value: Expression): void {
  try {
    const { text } = evaluate(scope, value)
    if (!HAS_NO_EFFECT.test(text)) write(scope, node, [{ text }])
  } catch (error) {
    if (!(error instanceof Unported)) throw error
    appendUnknown(scope, value)
    gap(scope, node, error.message)
  }
}

/** What a call comes to that has nothing left to do, such as add_sublayer of a layer that self has. */
const HAS_NO_EFFECT = /^[\w.]*$/

/** A list that was to get something holds something unknown. */
function appendUnknown(scope: Scope, value: Expression): void {
  if (value._ !== 'Call' || value.func._ !== 'Attribute' || value.func.attr !== 'append') return
  try {
    const base = evaluate(scope, value.func.value)
    if (base.value.kind === 'list') base.value.items.push(UNKNOWN)
  } catch (error) {
    if (!(error instanceof Unported)) throw error
  }
}

function assignment(
  scope: Scope,
  node: Statement,
  targets: readonly Expression[],
  compute: () => Expr,
  value: Expression,
): undefined {
  const [first] = targets
  scope.frame.target = first?._ === 'Attribute' && !scope.frame.model ? literal(first.attr) : undefined
  try {
    const expr = compute()
    write(
      scope,
      node,
      targets.flatMap((target, i) =>
        assign(scope, target, i === 0 ? expr : { ...expr, text: targetText(targets[0]!) }),
      ),
    )
  } catch (error) {
    if (!(error instanceof Unported)) throw error
    scope.session.gap(scope.frame.file, node, error.message)
    write(
      scope,
      node,
      targets.flatMap((target) =>
        assignUnknown(scope, target, isMade(value), (type) => unportedText(scope, node, type, error.message)),
      ),
    )
  } finally {
    scope.frame.target = undefined
  }
}

/** Whether a call makes a layer, by its name. */
const isMade = (value: Expression): boolean =>
  value._ === 'Call' &&
  /^[A-Z]/.test(value.func._ === 'Attribute' ? value.func.attr : value.func._ === 'Name' ? value.func.id : '')

function returned(scope: Scope, node: Statement, value: Expression | null): End {
  if (!value) {
    write(scope, node, [{ text: 'return' }])
    return { kind: 'return', value: NONE }
  }
  try {
    const expr = evaluate(scope, value)
    write(scope, node, [{ text: `return ${expr.text}${value._ === 'Tuple' ? ' as const' : ''}` }])
    return { kind: 'return', value: expr.value }
  } catch (error) {
    if (!(error instanceof Unported)) throw error
    scope.session.gap(scope.frame.file, node, error.message)
    const result: Value =
      value._ === 'Tuple'
        ? list(
            value.elts.map(() => UNKNOWN),
            true,
          )
        : UNKNOWN
    write(scope, node, [{ text: `return ${unportedText(scope, node, typeOf([result]), error.message)}`, gap: true }])
    return { kind: 'return', value: result }
  }
}

function branch(scope: Scope, node: If): End | undefined {
  const { record } = scope.frame
  let test: Expr
  try {
    test = evaluate(scope, node.test)
  } catch (error) {
    if (!(error instanceof Unported)) throw error
    gap(scope, node, error.message)
    return undefined
  }
  const known = truth(test.value)
  if (known === undefined) {
    gap(scope, node, 'a tensor as a test: nn.where(test, a, b)')
    return undefined
  }
  if (test.fixed) {
    record.decided.set(node, known)
    leaveOut(scope, test, known ? node.orelse : node.body)
  } else if (scope.frame.substitute) frozen(scope, node)
  else write(scope, node, [{ text: unwrapped(condition(test)) }])
  return block(scope, known ? node.body : node.orelse)
}

/** What is done at inference alone: it may return something else, which nobody asks a draft for, but not change what follows. */
function leaveOut({ session, frame: { file } }: Scope, test: Expr, body: readonly Statement[]): void {
  const [first, last] = [body[0], body.at(-1)]
  if (!first || last!._ === 'Return' || !test.text.includes('run.training')) return
  session.gap(file, { line: first.line, end: last!.end }, 'done at inference alone: write it for !run.training')
}

/** Fields of the model stand for what they were given: a test that gave them was made with the values of this config. */
function frozen({ session, frame: { file } }: Scope, { line }: Statement): void {
  session.notes.add(
    `${file.name}:${line}: decided by the values of this config; a config with others needs a draft of its own`,
  )
}

const unwrapped = (text: string) => (/^\([^()]*\)$/.test(text) ? text.slice(1, -1) : text)

function loop(scope: Scope, node: For): End | undefined {
  const { frame } = scope
  try {
    if (node.orelse.length > 0) throw new Unported('for ... else')
    const over = iterate(scope, node.iter)
    const name = targetText(node.target)
    const counts = node.target._ === 'Name' && over.counting
    write(scope, node, [{ text: counts ? counts(name) : `for (const ${name} of ${over.text})` }])
    for (const item of over.items) {
      bindTarget(scope, node.target, item)
      if (node.target._ === 'Name')
        frame.record.locals.set(node.target.id, [...(frame.record.locals.get(node.target.id) ?? []), item])
      const end = block(scope, node.body)
      if (end?.kind === 'break') break
      if (end?.kind === 'return') return end
    }
  } catch (error) {
    if (!(error instanceof Unported)) throw error
    gap(scope, node, error.message)
  }
  return undefined
}

function imported({ frame }: Scope, node: Extract<Statement, { _: 'Import' | 'ImportFrom' }>): undefined {
  for (const { name, asname } of node.names) {
    const path = node._ === 'Import' ? (asname ? name : name.split('.')[0]!) : `${node.module ?? ''}.${name}`
    frame.vars.set(asname ?? name.split('.')[0]!, { value: { kind: 'name', path }, text: '' })
  }
}
