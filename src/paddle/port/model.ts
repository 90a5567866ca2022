/** @file Follows StaticModel: its hyper-parameters, its inputs, its net, its optimizer. */
import type { FunctionDef, PythonFile } from './ast.ts'
import { fromYaml } from './calls/model.ts'
import type { Scope } from './house.ts'
import { variableName } from './names.ts'
import { follow } from './recursion.ts'
import { Again, type Frame, type Session } from './session.ts'
import { feedText } from './subscript.ts'
import { bool, type Expr, type Feed, NONE, type PythonClass, type Value } from './value.ts'

export interface Followed {
  readonly inputs: FunctionDef | undefined
  readonly owners: readonly string[]
  readonly net: FunctionDef | undefined
  readonly optimizer: FunctionDef | undefined
  /** What net() returns beside the loss. */
  readonly fetched: ReadonlyMap<string, Value>
  /** What stands as its Python lines, to be written by hand. */
  readonly quoted?: Quoted | undefined
}

export interface Quoted {
  readonly file: PythonFile
  readonly inputs: FunctionDef | undefined
  readonly net: readonly FunctionDef[]
  /** What the net is called in them. */
  readonly name: string
}

/** The class that has create_feeds and net. */
export function modelClass(session: Session): PythonClass | undefined {
  return [...session.classes.values()].find(({ methods }) => methods.has('create_feeds') && methods.has('net'))
}

export function followModel(session: Session, own: PythonClass, slots: readonly string[] | undefined): Followed {
  session.model = own
  const model = new Map<string, Expr>()
  const init = own.methods.get('__init__')
  if (init) run(session, own.file, init, model, [{ value: { kind: 'config' }, text: 'config' }], true)
  const inputs = own.methods.get('create_feeds')!
  session.declaring = true
  const fed = run(session, own.file, inputs, model, [], false)
  session.declaring = false
  const owners = nameFeeds(session, fed, slots)
  for (const [name, expr] of model) {
    const text = composed({ session, frame: fed.frame }, expr.value)
    if (text !== undefined) model.set(name, { ...expr, text, atom: true })
  }
  const given: Expr = {
    value: fed.result,
    text: composed({ session, frame: fed.frame }, fed.result) ?? 'inputs',
    atom: true,
  }
  const net = own.methods.get('net')!
  const { result } = run(session, own.file, net, model, [given], false)
  const optimizer = own.methods.get('create_optimizer')
  if (optimizer) run(session, own.file, optimizer, model, [], false)
  return { inputs, owners, net, optimizer, fetched: result.kind === 'dict' ? result.entries : new Map() }
}

/** Of a folder without static_model.py the layers and the optimizer: what the layers are called with is known to a batch alone. */
export function followDygraph(session: Session, own: PythonClass): Followed {
  session.model = own
  session.unreached = `${own.file.name} calls it with tensors of a batch, whose shapes no file says`
  const config: Expr = { value: { kind: 'config' }, text: 'config' }
  const [create, optimizer] = ['create_model', 'create_optimizer'].map((name) => own.methods.get(name))
  const { result } = run(session, own.file, create!, new Map(), [config], false)
  const given =
    optimizer &&
    givenTo(optimizer, (arg, i) => (arg === 'config' ? config : i === 0 ? { value: result, text: arg } : undefined))
  if (optimizer) run(session, own.file, optimizer, new Map(), given!, false)
  session.notes.add(
    `there is no static_model.py: layers and optimizer were followed as ${own.file.name} makes them; inputs, forward and loss stand as its lines`,
  )
  const methods = (...names: readonly string[]) => names.flatMap((name) => own.methods.get(name) ?? [])
  const forward = methods('train_forward', 'create_loss')
  const name = forward[0]?.args.args[1]?.arg ?? 'model'
  const quoted = { file: own.file, inputs: methods('create_feeds')[0], net: forward, name }
  return { inputs: undefined, owners: [], net: create, optimizer, fetched: new Map(), quoted }
}

/** What is not given is what it is usually, decided now. */
function givenTo({ args: { args, defaults } }: FunctionDef, of: (arg: string, i: number) => Expr | undefined) {
  return args.slice(1).map(({ arg }, i): Expr => {
    const usual = defaults[i + 1 - (args.length - defaults.length)]
    const own = usual?._ === 'Constant' ? usual.value : undefined
    return of(arg, i) ?? { value: fromYaml(own ?? null), text: JSON.stringify(own ?? null), atom: true, fixed: true }
  })
}

export const dygraphClass = (session: Session): PythonClass | undefined =>
  [...session.classes.values()].find(({ methods }) => methods.has('create_model') && methods.has('create_feeds'))

interface Run {
  readonly frame: Frame
  readonly result: Value
}

/** Follows a method of the model; what it is not given is decided: no inference, no strategy. */
function run(
  session: Session,
  file: PythonFile,
  node: FunctionDef,
  model: Map<string, Expr>,
  given: readonly Expr[],
  substitute: boolean,
): Run {
  const vars = new Map<string, Expr>()
  const record = session.record(node, file)
  for (const [i, { arg }] of node.args.args.slice(1).entries()) {
    const usual: Expr =
      arg === 'is_infer'
        ? { value: bool(false), text: '!run.training', fixed: true }
        : { value: NONE, text: 'null', fixed: true }
    vars.set(arg, given[i] ?? { ...usual, atom: true })
  }
  const frame: Frame = { record, file, vars, self: undefined, model, substitute, target: undefined }
  return { frame, result: follow({ session, frame }) }
}

/** Inputs go by the variables that create_feeds kept them in. */
function nameFeeds(session: Session, { frame, result }: Run, slots: readonly string[] | undefined): readonly string[] {
  rename(session, result, slots)
  const owners: string[] = []
  for (const [name, { value }] of [...frame.vars, ...[...frame.model!].map(([name, expr]) => [name, expr] as const)]) {
    const feeds = feedsIn(value)
    if (!feeds || feeds.length === 0 || feeds.some(({ owner }) => owner !== undefined)) continue
    const isList = value.kind === 'list'
    for (const [i, feed] of feeds.entries())
      Object.assign(feed, { owner: name, index: isList ? i : undefined, count: isList ? feeds.length : undefined })
    owners.push(name)
  }
  const order = feedsIn(result) ?? []
  const at = (name: string) => order.findIndex(({ owner }) => owner === name)
  return owners.sort((a, b) => at(a) - at(b))
}

function feedsIn(value: Value): readonly Feed[] | undefined {
  if (value.kind === 'tensor') return value.feed ? [value.feed] : undefined
  if (value.kind === 'slots') return value.feeds
  if (value.kind !== 'list') return undefined
  const all = value.items.map(feedsIn)
  return all.every((own) => own?.length === 1) ? all.flatMap((own) => own!) : undefined
}

/** Feeds are filled in the order of the reader's slots: where their names differ, those of the data count. */
function rename(session: Session, result: Value, slots: readonly string[] | undefined): void {
  const feeds = feedsIn(result)
  if (session.kinds.renamed || !slots || feeds?.length !== slots.length) return
  const renamed = new Map(feeds.map(({ name }, i) => [name, slots[i]!]))
  session.kinds.renamed = renamed
  if (feeds.some(({ name }) => renamed.get(name) !== name)) throw new Again()
}

/** A list of inputs by their names: `[inputs.click, ...inputs.slots]`. */
function composed(scope: Scope, value: Value): string | undefined {
  const feeds = feedsIn(value)
  if (!feeds || feeds.some(({ owner }) => owner === undefined)) return undefined
  if (value.kind !== 'list') return feedText(scope, [value])
  const whole = feedText(scope, value.items)
  if (whole && feeds[0]!.index !== undefined) return whole
  const parts: string[] = []
  for (let i = 0; i < feeds.length; ) {
    const { owner, index, count } = feeds[i]!
    const name = `inputs.${variableName(owner!)}`
    const all = index === 0 && count !== undefined && feeds.slice(i, i + count).every((feed) => feed.owner === owner)
    parts.push(all ? `...${name}` : index === undefined ? name : `${name}[${index}]!`)
    i += all ? count : 1
  }
  return `[${parts.join(', ')}]`
}
