/** @file Assignments: to variables, to fields of a layer, which registers layers and weights, and to those of the model, which are variables here. */
import type { Expression } from './ast.ts'
import { isPart } from './calls/parts.ts'
import { house, type Scope } from './house.ts'
import { literal, memberName, variableName } from './names.ts'
import { evaluate } from './recursion.ts'
import { Unported, type Written } from './session.ts'
import {
  type Expr,
  NONE,
  type ObjectValue,
  type PythonClass,
  said,
  truth,
  typeOf,
  UNKNOWN,
  type Value,
} from './value.ts'

export function assign(scope: Scope, target: Expression, expr: Expr): readonly Written[] {
  const metric = metricOf(scope, target, expr)
  if (metric) return metric
  switch (target._) {
    case 'Name':
      return variable(scope, target.id, expr)
    case 'Attribute':
      return field(scope, target, expr)
    case 'Tuple':
    case 'List':
      return unpacked(scope, target.elts, expr)
    case 'Subscript':
      return element(scope, target, expr)
    default:
      throw new Unported(`an assignment to a ${target._}`)
  }
}

/** What a failed statement was to give: something unknown of the likely type. */
export function assignUnknown(
  scope: Scope,
  target: Expression,
  layer: boolean,
  text: (type: string) => string,
): readonly Written[] {
  const value: Value = layer ? { kind: 'unknown', layer } : unknownIn(scope, target)
  if (target._ === 'Tuple' || target._ === 'List') {
    const items = target.elts.map((): Value => UNKNOWN)
    const expr: Expr = {
      value: { kind: 'list', items, tuple: true },
      text: text(`[${items.map(() => 'nn.Tensor').join(', ')}]`),
    }
    return gaps(
      target.elts.every((own) => own._ === 'Name' || own._ === 'Attribute')
        ? unpacked(scope, target.elts, expr)
        : [{ text: `throw ${text('Error')}` }],
    )
  }
  const ofSelf = target._ === 'Attribute' && target.value._ === 'Name' && target.value.id === 'self'
  if (target._ !== 'Name' && !ofSelf) return [{ text: `throw ${text('Error')}`, gap: true }]
  return gaps(assign(scope, target, { value, text: text(typeOf([value])) }))
}

/** An input that could not be declared is still an input. */
function unknownIn({ frame, session }: Scope, target: Expression): Value {
  if (!session.declaring || !frame.model || target._ !== 'Name') return UNKNOWN
  return { kind: 'tensor', feed: { site: target, name: target.id } }
}

const gaps = (written: readonly Written[]): readonly Written[] => written.map((own) => ({ ...own, gap: true }))

function variable({ frame, session }: Scope, id: string, { value, text, fixed }: Expr): readonly Written[] {
  if (frame.substitute) {
    frame.vars.set(id, { value, text, atom: true })
    return []
  }
  const name = variableName(id)
  if (frame.model && !session.named.has(value)) session.named.set(value, name)
  if (frame.model && value.kind === 'dict') {
    frame.vars.set(id, { value, text })
    return []
  }
  remember(frame.record.locals, id, value)
  // A name of Paddle's stays one: `act = paddle.nn.ReLU` is no value of TypeScript.
  if (value.kind === 'name' || value.kind === 'attributes' || value.kind === 'config') {
    frame.vars.set(id, { value, text })
    return []
  }
  frame.vars.set(id, { value, text: name, atom: true, fixed: fixed ?? false })
  return name === text ? [] : [{ text, declares: [id], pattern: name }]
}

function remember(into: Map<string, Value[]>, name: string, value: Value): void {
  into.set(name, [...(into.get(name) ?? []), value])
}

function field(
  scope: Scope,
  { value: of, attr }: Extract<Expression, { _: 'Attribute' }>,
  expr: Expr,
): readonly Written[] {
  const { frame, session } = scope
  const ofSelf = of._ === 'Name' && of.id === 'self'
  if (attr === 'stop_gradient') return stopped(scope, of, expr)
  if (ofSelf && frame.model) return modelField(scope, attr, expr)
  if (!ofSelf || !frame.self) throw new Unported(`an assignment to .${attr}`)
  const { self } = frame
  const { value, text } = expr
  if (value.kind === 'name' || value.kind === 'attributes') {
    self.fields.set(attr, value)
    throw new Unported(`${said(value)} as a field`)
  }
  self.fields.set(attr, value)
  session.field(ownerOf(scope, self), attr, value)
  const pattern = `this.${memberName(attr)}`
  if (!isPart(value) || value.added || !self.own.isLayer) return [{ text: `${pattern} = ${text}` }]
  value.added = true
  return [{ text: `${pattern} = this.addSublayer(${literal(attr)}, ${text})` }]
}

/** `x.stop_gradient = True`: from here on the variable is one through which no gradient flows. Inputs have none anyway. */
function stopped(scope: Scope, of: Expression, { value }: Expr): readonly Written[] {
  const stops = truth(value)
  if (stops === undefined) throw new Unported('.stop_gradient of a value that is not known')
  if (!stops) return []
  const x = evaluate(scope, of)
  if (x.value.kind === 'tensor' && x.value.feed) return []
  if (x.value.kind !== 'tensor' || of._ !== 'Name')
    throw new Unported('.stop_gradient of something else than a variable')
  return variable(scope, of.id, house(scope, 'stopGradient', x))
}

/** The class whose method assigns: a class that extends it must not declare the field again. */
function ownerOf({ frame }: Scope, { own }: ObjectValue): PythonClass {
  let found: PythonClass | undefined = own
  while (found && !found.node.body.includes(frame.record.node)) found = found.parent
  return found ?? own
}

/** A field of StaticModel: what it stands for before the net is followed, a variable of the net after. */
function modelField({ frame, session }: Scope, attr: string, expr: Expr): readonly Written[] {
  const { model, substitute, record } = frame
  if (substitute) {
    model!.set(attr, { ...expr, text: expr.atom ? expr.text : `(${expr.text})`, atom: true })
    return []
  }
  const clash = frame.vars.has(attr) || record.params.has(attr)
  const id = clash && variableName(attr) !== expr.text ? `self_${attr}` : attr
  const name = variableName(id)
  model!.set(attr, { value: expr.value, text: name, atom: true })
  if (!session.named.has(expr.value)) session.named.set(expr.value, name)
  if (attr === '_cost' || (attr === 'cost' && expr.value.kind === 'tensor'))
    session.loss = { value: expr.value, text: name }
  if (name === expr.text || expr.value.kind === 'dict') return []
  remember(record.locals, id, expr.value)
  return [{ text: expr.text, declares: [id], pattern: name }]
}

function unpacked(scope: Scope, targets: readonly Expression[], { value, text }: Expr): readonly Written[] {
  if (value.kind !== 'list') throw new Unported(`several variables for ${said(value)}`)
  if (value.items.length !== targets.length)
    throw new Unported(`${targets.length} variables for ${value.items.length} values`)
  const parts = targets.map((target, i) => ({ target, own: value.items[i]! }))
  if (scope.frame.substitute) throw new Unported('several variables at once')
  if (parts.every(({ target }) => target._ === 'Name')) {
    const names = parts.map(({ target }) => (target as { id: string }).id)
    for (const [i, id] of names.entries()) variable(scope, id, { value: parts[i]!.own, text: '' })
    const typed = value.tuple ? text : `${text} as [${value.items.map((item) => typeOf([item])).join(', ')}]`
    return [
      {
        text: text.startsWith('[') ? text : typed,
        declares: names,
        pattern: `[${names.map(variableName).join(', ')}]`,
      },
    ]
  }
  const whole = scope.session.unique()
  const rest = parts.flatMap(({ target, own }, i) =>
    assign(scope, target, { value: own, text: `parts_${whole}[${i}]${value.tuple ? '' : '!'}`, atom: true }),
  )
  return [{ text: `const parts_${whole} = ${text}` }, ...rest]
}

function element(scope: Scope, target: Extract<Expression, { _: 'Subscript' }>, expr: Expr): readonly Written[] {
  const base = evaluate(scope, target.value)
  const at = target.slice._ === 'Slice' ? undefined : evaluate(scope, target.slice)
  if (base.value.kind === 'dict' && at?.value.kind === 'string') {
    base.value.entries.set(at.value.value, expr.value)
    return expr.value.kind === 'metric' ? [] : [{ text: `${base.text}[${at.text}] = ${expr.text}` }]
  }
  if (base.value.kind === 'list' && at?.value.kind === 'number' && base.value.items.at(at.value.value)) {
    base.value.items[at.value.value] = expr.value
    return [{ text: `${base.text}[${at.text}] = ${expr.text}` }]
  }
  throw new Unported(`an assignment to an element of ${said(base.value)}`)
}

/** `auc, batch_auc, states = paddle.static.auc(...)`: the first is the metric; the others have no counterpart. */
function metricOf(scope: Scope, target: Expression, { value, text }: Expr): readonly Written[] | undefined {
  if (value.kind !== 'list' || value.items[0]?.kind !== 'metric') return undefined
  if (target._ !== 'Tuple' && target._ !== 'List') throw new Unported('a metric that is not taken apart')
  const [first, ...more] = target.elts
  for (const own of more)
    for (const name of namesIn(own)) scope.frame.vars.set(name, { value: NONE, text: 'null', atom: true })
  return assign(scope, first!, { value: value.items[0], text, atom: true })
}

function namesIn(node: Expression): readonly string[] {
  if (node._ === 'Name') return [node.id]
  return node._ === 'Tuple' || node._ === 'List' ? node.elts.flatMap(namesIn) : []
}
