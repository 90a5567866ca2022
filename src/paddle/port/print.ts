/** @file Lines and blocks as text: which variables are declared where, and of which type. */
import { variableName } from './names.ts'
import type { Out } from './out.ts'
import type { FunctionRecord, Written } from './session.ts'
import { typeOf, type Value } from './value.ts'

interface Place {
  readonly block: readonly Out[]
  readonly out: Out
  /** The blocks around it, outermost first. */
  readonly path: readonly (readonly Out[])[]
}

/** The lines of a function's body, two blanks deeper with each block. */
export function printBody(record: FunctionRecord, body: readonly Out[], indent: string): readonly string[] {
  const places = placesOf(body, [body])
  const plan = declarations(record, body, places)
  const hoisted = plan.hoisted.map((id) => `${indent}let ${variableName(id)}!: ${typeIn(record, id)}`)
  return [...hoisted, ...lines(record, body, indent, plan)]
}

interface Plan {
  readonly hoisted: readonly string[]
  /** How a line begins. */
  readonly begins: ReadonlyMap<Out, 'const' | 'let'>
  /** Heads of loops whose variable is assigned to inside. */
  readonly changing: ReadonlySet<Out>
}

const declaredBy = (out: Out): readonly string[] => (out.kind === 'line' ? (out.written.declares ?? []) : [])
const textOf = (out: Out): string =>
  out.kind === 'line' ? `${out.written.pattern ?? ''} = ${out.written.text}` : out.kind === 'block' ? out.head : ''

function placesOf(block: readonly Out[], path: readonly (readonly Out[])[]): readonly Place[] {
  return block.flatMap((out) => {
    const own: Place = { block, out, path }
    return out.kind === 'block' ? [own, ...placesOf(out.body, [...path, out.body])] : [own]
  })
}

function declarations(record: FunctionRecord, body: readonly Out[], places: readonly Place[]): Plan {
  const begins = new Map<Out, 'const' | 'let'>()
  const changing = new Set<Out>()
  const hoisted = new Set<string>()
  const ids = new Set(places.flatMap(({ out }) => declaredBy(out)))
  const together = new Map<Out, boolean>()
  const fates = new Map<string, 'const' | 'let' | 'hoisted' | 'plain'>()
  for (const id of ids) {
    const own = places.filter(({ out }) => declaredBy(out).includes(id))
    const loop = places.find(({ out }) => out.kind === 'block' && out.loops.includes(id))
    if (loop && own.every(({ path }) => loop.out.kind === 'block' && path.includes(loop.out.body))) {
      changing.add(loop.out)
      fates.set(id, 'plain')
    } else fates.set(id, fateOf(record, id, own, places, body))
  }
  for (const { out } of places) {
    const names = declaredBy(out)
    if (names.length > 0)
      together.set(
        out,
        names.every((id) => fates.get(id) === 'const'),
      )
  }
  for (const [id, fate] of fates) {
    const own = places.filter(({ out }) => declaredBy(out).includes(id))
    const alone = own.every(({ out }) => declaredBy(out).length === 1)
    if (
      fate === 'hoisted' ||
      ((fate === 'let' || fate === 'const') && !alone && !own.every(({ out }) => together.get(out)))
    )
      hoisted.add(id)
    else if (fate === 'let' || fate === 'const') begins.set(own[0]!.out, fate)
  }
  for (const { out } of places) if (declaredBy(out).some((id) => hoisted.has(id))) begins.delete(out)
  for (const { out } of places) {
    // of a pattern, all or none
    const names = declaredBy(out)
    if (names.length > 1 && names.some((id) => hoisted.has(id)))
      for (const id of names) if (fates.get(id) !== 'plain') hoisted.add(id)
  }
  return { hoisted: [...hoisted], begins, changing }
}

function fateOf(
  record: FunctionRecord,
  id: string,
  own: readonly Place[],
  places: readonly Place[],
  body: readonly Out[],
): 'const' | 'let' | 'hoisted' | 'plain' {
  if (record.params.has(id)) return 'plain'
  const [first] = own
  const word = new RegExp(`(?<![.\\w$])${variableName(id)}(?![\\w$])`)
  const used = places.filter(({ out }) => word.test(textOf(out)))
  const inside = used.every(({ path }) => path.includes(first!.block))
  if (!inside) return 'hoisted'
  if (own.length === 1) return 'const'
  return first!.block === body || own.every(({ path }) => path.includes(first!.block)) ? 'let' : 'hoisted'
}

function lines(record: FunctionRecord, body: readonly Out[], indent: string, plan: Plan): readonly string[] {
  return body.flatMap((out, i): readonly string[] => {
    if (out.kind === 'comment') return [`${indent}// ${out.text}`]
    if (out.kind === 'line') return [`${indent}${line(record, out, out.written, plan)}`]
    const head = plan.changing.has(out) ? out.head.replace('for (const ', 'for (let ') : out.head
    const next = body[i + 1]
    const otherwise = next?.kind === 'block' && next.head === 'else'
    const inner = lines(record, out.body, `${indent}  `, plan)
    const own = out.head === 'else' ? [`${indent}} else {`, ...inner] : [`${indent}${head} {`, ...inner]
    return otherwise ? own : [...own, `${indent}}`]
  })
}

function line(record: FunctionRecord, out: Out, { text, declares = [], pattern }: Written, plan: Plan): string {
  if (declares.length === 0 || pattern === undefined) return /^[[(`]/.test(text) ? `;${text}` : text
  const begins = plan.begins.get(out)
  if (!begins) return `${pattern.startsWith('[') ? ';' : ''}${pattern} = ${text}`
  const [id] = declares
  const annotated = declares.length === 1 && (begins === 'let' || isAnnotated(record.locals.get(id!) ?? []))
  return `${begins} ${pattern}${annotated ? `: ${typeIn(record, id!)}` : ''} = ${text}`
}

const isAnnotated = (values: readonly Value[]): boolean =>
  values.some(({ kind }) => kind === 'list' || kind === 'initializer')

export function typeIn(record: FunctionRecord, id: string): string {
  return typeOf([...(record.params.get(id) ?? []), ...(record.locals.get(id) ?? [])])
}

/** Parameters that are assigned something of another type. */
export function changedParams(record: FunctionRecord): readonly string[] {
  return [...record.params]
    .filter(([name, values]) => record.locals.has(name) && typeIn(record, name) !== typeOf(values))
    .map(([name]) => name)
}

export const givenName = (name: string): string => `${name}_given`

/** `x: nn.Tensor, mask: nn.Tensor | null = null`. */
export function printParams(record: FunctionRecord, skip: number): string {
  const { args, defaults } = record.node.args
  const names = args.slice(skip).map(({ arg }) => arg)
  const changed = changedParams(record)
  return names
    .map((name, i) => {
      const usual = defaults[i - (names.length - defaults.length)]
      const text = usual && record.defaults.get(name)
      if (changed.includes(name))
        return `${givenName(name)}: ${typeOf(record.params.get(name)!)}${text === undefined ? '' : ` = ${text}`}`
      return `${variableName(name)}: ${typeIn(record, name)}${text === undefined ? '' : ` = ${text}`}`
    })
    .join(', ')
}
