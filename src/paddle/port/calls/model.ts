/** @file What only a model asks for: its inputs and the values of its config. */

import { reshape } from '../../../graph/program/index.ts'
import type { Scope } from '../house.ts'
import { literal } from '../names.ts'
import { Unported } from '../session.ts'
import { bool, type Expr, type Feed, list, NONE, num, str, tensorOf, type Value } from '../value.ts'
import { type CallRow, given, need, row, type Translate } from './row.ts'

/** paddle.static.data: a slot of ids, a label, or numbers. */
const data: Translate = (scope, args, node) => {
  const { session } = scope
  const [name, shape, dtype] = [need(args, 'name'), need(args, 'shape'), given(args['dtype'])]
  if (name.value.kind !== 'string' || shape.value.kind !== 'list')
    throw new Unported('an input without a name or a shape')
  const type = dtype?.value.kind === 'string' ? dtype.value.value : 'float32'
  const feed: Feed = { site: node, name: name.value.value }
  session.feeds.push(feed)
  const slot = slotText(scope, name)
  const sizes = shape.value.items
    .slice(1)
    .map((size) => (size.kind === 'number' && size.value > 0 ? size.value : undefined))
  const lod = given(args['lod_level'])
  if (lod && lod.value.kind === 'number' && lod.value.value > 0 && !session.kinds.tensors.has(node))
    return slotOf(scope, feed, slot)
  if (sizes.includes(undefined))
    throw new Unported(
      'an input of no fixed width: a slot with any number of signs is feeds.sparse(name), for nn.sequenceEmbedding',
    )
  const width = (sizes as number[]).reduce((a, b) => a * b, 1)
  if (type === 'int64' && width === 1 && !session.kinds.tensors.has(node)) return slotOf(scope, feed, slot)
  return numbersOf(scope, { feed, slot, shape, sizes: sizes as number[], type })
}

function slotOf({ session }: Scope, feed: Feed, slot: string): Expr {
  const own = { kind: 'sparse', name: feed.name, builder: session.builder } as const
  return {
    value: { kind: 'slots', slots: [own], many: false, feeds: [feed] },
    text: `feeds.sparse(${slot})`,
    atom: true,
  }
}

function numbersOf(
  { session }: Scope,
  { feed, slot, shape, sizes, type }: { feed: Feed; slot: string; shape: Expr; sizes: readonly number[]; type: string },
): Expr {
  if (type !== 'int64' && type !== 'float32') throw new Unported(`an input of ${type}`)
  const texts = /^\[[^[\]]*\]$/.test(shape.text) ? shape.text.slice(1, -1).split(', ').slice(1) : sizes.map(String)
  const width = sizes.reduce((a, b) => a * b, 1)
  const widthText = texts.length === sizes.length && texts.length > 0 ? texts.join(' * ') : String(width)
  const flat = session.builder.feed(feed.name, ['B', width], type)
  const isLabel = type === 'int64' && width === 1
  const text = isLabel
    ? `feeds.label(${slot})`
    : `feeds.dense(${slot}, ${widthText}${type === 'int64' ? ", 'int64'" : ''})`
  if (sizes.length === 1) return { value: tensorOf(flat, feed), text, atom: true }
  const value = tensorOf(reshape(flat, ['B', ...sizes]), feed)
  return { value, text: `nn.reshape(${text}, [-1${texts.map((own) => `, ${own}`).join('')}])`, atom: true }
}

/** The slot's name in the data: that of the reader beside the model, where there is one. */
function slotText({ session }: Scope, name: Expr): string {
  const own = name.value.kind === 'string' ? name.value.value : ''
  const renamed = session.kinds.renamed?.get(own)
  if (renamed === undefined || renamed === own) return name.text
  if (name.text === literal(own)) return literal(renamed)
  const prefix = own.slice(0, own.length - renamed.length)
  if (own.endsWith(renamed) && name.text.startsWith(`${literal(prefix)} + `))
    return name.text.slice(`${literal(prefix)} + `.length)
  return name.text
}

/** config.get("hyper_parameters.fc_sizes"). */
const get: Translate = (scope, args) => {
  const key = need(args, 'key')
  if (key.value.kind !== 'string') throw new Unported('a key of the config that is no text')
  const [group, ...path] = key.value.value.split('.')
  const usual = args['default']
  if (group === 'hyper_parameters' && path.length > 0) return hyper(scope, path, usual)
  if (key.value.value === 'runner.sync_mode')
    return { value: str(String(scope.session.runner['sync_mode'] ?? 'async')), text: 'run.sync_mode', atom: true }
  const own = group === 'runner' ? scope.session.runner[path.join('.')] : undefined
  if (own === undefined && !usual) throw new Unported(`${key.value.value}, which the config has not`)
  const value = own === undefined ? usual!.value : fromYaml(own)
  scope.session.notes.add(
    `${key.value.value} is written into the draft as ${JSON.stringify(own ?? null)}: a net here does not see the runner's keys`,
  )
  return { value, text: own === undefined ? usual!.text : JSON.stringify(own), atom: true }
}

function hyper({ session }: Scope, path: readonly string[], usual: Expr | undefined): Expr {
  const text = `hyper.${path.join('.')}`
  const own = path.reduce<unknown>(
    (at, key) => (at as Record<string, unknown> | undefined)?.[key],
    session.hyper.values,
  )
  if (own !== undefined && own !== null) return { value: fromYaml(own), text, atom: true }
  const value = usual?.value ?? NONE
  session.hyper.asked.set(path.join('.'), value)
  return { value, text, atom: true }
}

export function fromYaml(own: unknown): Value {
  if (typeof own === 'number') return num(own)
  if (typeof own === 'string') return str(own)
  if (typeof own === 'boolean') return bool(own)
  if (own === null) return NONE
  if (Array.isArray(own)) return list(own.map(fromYaml))
  return {
    kind: 'dict',
    entries: new Map(Object.entries(own as object).map(([name, value]) => [name, fromYaml(value)])),
  }
}

export const MODEL_ROWS: readonly CallRow[] = [
  row(
    'paddle.static.data',
    'name shape dtype lod_level',
    'feeds.sparse(name) of ids, feeds.label(name), feeds.dense(name, width)',
    data,
  ),
]

export const MODEL_METHODS: readonly CallRow[] = [
  row('config.get', 'key default', 'hyper.key, run.sync_mode', get),
  row('optimizer.minimize', 'loss', 'left out', () => ({ value: NONE, text: '' })),
]
