/** @file From a folder of PaddleRec, or its net.py, to a draft of model.ts and a report of what was and was not translated. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { parse } from 'yaml'
import { shown, UserError } from '../../base/util/index.ts'
import type { PythonFile, Statement } from './ast.ts'
import { evaluateCall } from './call.ts'
import { iterate } from './comprehension.ts'
import { printDraft } from './draft.ts'
import { evaluate } from './expression.ts'
import { dygraphClass, followDygraph, followModel, modelClass } from './model.ts'
import { parsePython } from './parse.ts'
import type { Turns } from './recursion.ts'
import { Again, type Gap, isLayerName, type Kinds, Session } from './session.ts'
import { follow } from './statement.ts'

export interface PortOptions {
  /** net.py, or the folder of a model. */
  readonly source: string
  /** static_model.py. @default the one beside net.py, if there is one */
  readonly model?: string | undefined
  /** The yaml whose values the net is followed with. @default config.yaml beside net.py */
  readonly config?: string | undefined
  /** The program that parses. @default python3 */
  readonly python?: string | undefined
}

export interface Draft {
  readonly text: string
  /** Files it was made from. */
  readonly files: readonly string[]
  readonly config: string | undefined
  /** The folder of the net. */
  readonly folder: string
  /** Statements that were followed. */
  readonly statements: number
  readonly gaps: readonly Gap[]
  readonly skipped: readonly Gap[]
  readonly unused: readonly string[]
  readonly notes: readonly string[]
}

const TURNS: Turns = { evaluate, evaluateCall, iterate, follow }

/** Kinds are only ever widened, so that a few passes come to rest. */
const MOST_PASSES = 200

export async function portModel(options: PortOptions): Promise<Draft> {
  const { net, folder } = await netOf(options.source)
  const beside = (name: string) => existing(join(folder, name))
  const model = options.model ?? (await beside('static_model.py')) ?? (await beside('dygraph_model.py'))
  const parsed = await parsePython(model ? [net, model] : [net], options.python)
  if (!parsed[0]!.tree.body.some(isLayer)) throw noLayer(net)
  const config = options.config ?? (await configIn(folder))
  const yaml = config ? ((parse(await readFile(config, 'utf8')) ?? {}) as Yaml) : {}
  const slots = await slotsOf(folder, yaml, options.python)
  const session = settle({ files: parsed, hyper: yaml.hyper_parameters ?? {}, runner: yaml.runner ?? {} }, slots)
  return { ...session, files: parsed.map(({ path }) => path), config, folder }
}

interface Yaml {
  readonly hyper_parameters?: Record<string, unknown>
  readonly runner?: Record<string, unknown>
}

type Settled = Pick<Draft, 'text' | 'statements' | 'gaps' | 'skipped' | 'unused' | 'notes'>

/** Follows the model again and again until nothing is taken for something else. */
function settle(options: ConstructorParameters<typeof Session>[0], slots: readonly string[] | undefined): Settled {
  const kinds: Kinds = { tensors: new Set(), dense: new Set(), renamed: undefined }
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const session = new Session(options, kinds, TURNS)
    try {
      return draftOf(session, options.files, slots)
    } catch (error) {
      if (!(error instanceof Again)) throw error
    }
  }
  throw new Error('internal: a draft does not settle')
}

function draftOf(session: Session, files: readonly PythonFile[], slots: readonly string[] | undefined): Settled {
  const [own, dygraph] = [modelClass(session), dygraphClass(session)]
  const followed = own
    ? followModel(session, own, slots)
    : dygraph
      ? followDygraph(session, dygraph)
      : { inputs: undefined, owners: [], net: undefined, optimizer: undefined, fetched: new Map() }
  const names = files.map(({ path }) => `${basename(dirname(path))}/${basename(path)}`)
  const text = printDraft(session, followed, { from: names.join(' and ') })
  const unused = [...session.classes.values()]
    .filter((cls) => cls.isLayer && !session.used.has(cls))
    .map((cls) => `${cls.file.name}:${cls.node.line}: ${cls.node.name}`)
  const statements = [...session.records.values()].reduce((sum, { visited }) => sum + visited.size, 0)
  return {
    text,
    statements,
    gaps: [...session.gaps.values()],
    skipped: [...session.skipped.values()],
    unused,
    notes: [...session.notes],
  }
}

function isLayer(node: Statement): boolean {
  return node._ === 'ClassDef' && isLayerName(node.bases[0])
}

async function netOf(source: string): Promise<{ net: string; folder: string }> {
  const found = await stat(source).catch(() => undefined)
  if (!found?.isDirectory()) return { net: source, folder: dirname(source) }
  const net = join(source, 'net.py')
  if (await existing(net)) return { net, folder: source }
  throw new UserError(`${shown(source)}: it has no net.py`, {
    code: 'PORT_FILE',
    hint: 'name the file that has the layers: oarfish port models/rank/dnn/net.py',
  })
}

const existing = async (path: string): Promise<string | undefined> =>
  (await stat(path).catch(() => undefined))?.isFile() ? path : undefined

/** config.yaml, or where a folder has another alone, that one. */
async function configIn(folder: string): Promise<string | undefined> {
  const usual = await existing(join(folder, 'config.yaml'))
  if (usual) return usual
  const all = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.yaml')).sort()
  return all[0] && join(folder, all[0])
}

/** The slots that the reader beside the model names, in the order in which it yields them. */
async function slotsOf(
  folder: string,
  { runner }: Yaml,
  python: string | undefined,
): Promise<readonly string[] | undefined> {
  const named = String(runner?.['train_reader_path'] ?? '')
  const path = named && (await existing(join(folder, named.endsWith('.py') ? named : `${named}.py`)))
  if (!path) return undefined
  const [file] = await parsePython([path], python).catch(() => [])
  if (!file) return undefined
  const source = file.lines.join('\n')
  const sparse = source
    .match(/sparse_slots\s*=\s*["']([^"']+)["']/)?.[1]
    ?.trim()
    .split(/\s+/)
  const dense = source
    .match(/dense_slots\s*=\s*\[([^\]]*)\]/)?.[1]
    ?.match(/["'][^"']+["']/g)
    ?.map((own) => own.slice(1, -1))
  return sparse && [...sparse, ...(dense ?? [])]
}

function noLayer(net: string): UserError {
  return new UserError(`${shown(net)}: no class in it is a layer`, {
    code: 'PORT_LAYER',
    hint: 'a net of PaddleRec 2.x is a class that extends paddle.nn.Layer; nets of 1.x and of Fluid are functions: see docs/guide/fluid.md',
  })
}
