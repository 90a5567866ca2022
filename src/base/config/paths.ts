/** @file Files and folders: the yaml that `-m` names, the reader module and data folders that it names; and what stands nearest to a missing one. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { editDistance, packageFile, suggest } from '../util/index.ts'
import { placeOf, setFix } from './mend.ts'
import { ConfigError, type ConfigProblem } from './problem.ts'
import { type ConfigSource, isWritten } from './source.ts'

/** `afs:/…` and the like, which are not looked for on this machine. */
export const isRemote = (path: string) => /^(afs|hdfs|s3|file|kafka):/.test(path)

const scripts = (name: string) => ['.ts', '.js', '.mjs'].map((ending) => name + ending)

/** What the model beside a config may be called, by the mode that it serves. The first that is there is taken. */
export const MODEL_FILES = {
  static: [...scripts('static_model'), ...scripts('model')],
  dygraph: [...scripts('dygraph_model'), ...scripts('model')],
} as const

/** Two files that could be the model: which one is taken is worth saying. */
export function modelNotices(dir: string): string[] {
  const here = (names: readonly string[]) => names.find((name) => existsSync(join(dir, name)))
  const [classes, one] = [here(scripts('static_model')), here(scripts('model'))]
  if (!classes || !one || here(scripts('dygraph_model'))) return []
  // One that is not a model of its own is a helper of the other.
  if (!/\bdefineModel\b/.test(readFileSync(join(dir, one), 'utf8'))) return []
  return [
    `${classes} and ${one} are both here: ${classes} is trained, ${one} with --mode dygraph; keep the one you mean`,
  ]
}

const ENDINGS = ['.ts', '.mts', '.js', '.mjs'] as const

/** The reader module's file: `criteo_reader` -> …/criteo_reader.ts, else …/criteo_reader.py, or undefined where none exists. */
export function readerFile(dir: string, path: string): string | undefined {
  if (path === '') return undefined
  return [...ENDINGS, '.py'].map((ending) => resolve(dir, stem(path) + ending)).find((file) => existsSync(file))
}

export const stem = (path: string) => path.replace(/\.(py|ts|mts|js|mjs)$/, '')

/** A reader that was named, is not there, and was clearly meant to be: the built-in reader must not step in for a typo. */
export function readerProblem(
  key: string,
  path: string,
  { dir, source }: { dir: string; source: ConfigSource },
): ConfigProblem | undefined {
  const folder = dirname(resolve(dir, path))
  if (path === '' || !isWritten(source, ['runner', key]) || readerFile(dir, path) || !existsSync(folder))
    return undefined
  const name = basename(stem(path))
  const stems = readdirSync(folder)
    .filter((file) => [...ENDINGS, '.py'].some((ending) => file.endsWith(ending)))
    .map(stem)
  const near = stems.find(
    (candidate) => editDistance(candidate.toLowerCase(), name.toLowerCase()) <= Math.min(2, name.length / 3),
  )
  const asScript = stem(path) !== path && !path.endsWith('.py')
  if (near === undefined && !asScript) return undefined
  const instead = near === undefined ? undefined : join(dirname(path), near)
  return pathProblem(source, key, { message: `no such reader: ${stem(path)}.ts`, instead })
}

/** A data folder that is not there. */
export function folderProblem(
  key: string,
  path: string,
  { dir, source }: { dir: string; source: ConfigSource },
): ConfigProblem | undefined {
  if (isRemote(path) || (existsSync(path) && statSync(path).isDirectory())) return undefined
  const folder = existsSync(path) ? dirname(path) : nearestFolder(path)
  const message = existsSync(path) ? `expected a folder, got the file ${path}` : `no such folder: ${path}`
  return pathProblem(source, key, { message, instead: folder && relative(dir, folder) })
}

/** Follows a path down as far as it exists, taking the nearest name where one is mistyped. */
export function nearestFolder(folder: string): string | undefined {
  const above = dirname(folder)
  const parent = existsSync(above) ? above : above === folder ? undefined : nearestFolder(above)
  if (parent === undefined) return undefined
  const same = join(parent, basename(folder))
  if (existsSync(same) && statSync(same).isDirectory()) return same
  const folders = readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const guess = suggest(
    basename(folder),
    folders.map((entry) => entry.name),
  )
  return guess === undefined ? undefined : join(parent, guess)
}

function pathProblem(
  source: ConfigSource,
  key: string,
  { message, instead }: { message: string; instead: string | undefined },
): ConfigProblem {
  const path = ['runner', key]
  const advice = { kind: 'advice', text: 'write a path that exists, relative to the folder of the yaml' } as const
  return {
    code: 'CONFIG_PATH',
    key: path.join('.'),
    message,
    guess: instead,
    place: placeOf(source, path, 'value'),
    fix: instead === undefined ? advice : setFix(source, path, instead),
  }
}

/** A model, a reader, a script: a config.yaml stands beside it. */
const PROGRAM = /\.([cm]?[jt]s|py|sh)$/

function whatIsThere(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) return 'no such file'
  const what = stats.isDirectory() ? 'a folder' : stats.isFile() ? 'a program' : 'no plain file'
  return `this is ${what}, expected a config.yaml`
}

/** The absolute path of the config. `paddlerec.models.rank.dnn` is the folder of that name in this package, and `/config_bigdata.yaml` behind it another file of it. */
export function locateConfig(path: string, cwd: string): string {
  const shipped = /^paddlerec((?:\.\w+)+)(?:\/([\w-]+\.yaml))?$/.exec(path)
  const [, folders = '', file = 'config.yaml'] = shipped ?? []
  const absolute = shipped ? packageFile(join(...folders.split('.').slice(1), file)) : resolve(cwd, path)
  if (existsSync(absolute) && statSync(absolute).isFile() && !PROGRAM.test(absolute)) return absolute
  const near = nearest(PROGRAM.test(absolute) ? dirname(absolute) : absolute)
  const to = near === undefined ? undefined : shipped ? near : displayPath(near, path, cwd)
  throw new ConfigError(
    [
      {
        code: 'CONFIG_NOT_FOUND',
        key: '',
        message: whatIsThere(absolute),
        guess: to,
        place: { kind: 'none' },
        fix:
          to === undefined
            ? { kind: 'advice', text: `create ${path}, or name a config.yaml that exists` }
            : { kind: 'path', to },
      },
    ],
    { file: path, text: '' },
  )
}

const displayPath = (near: string, typed: string, cwd: string) => (typed.startsWith('/') ? near : relative(cwd, near))

/** Follows the path down as far as folders exist, taking the nearest name where one is mistyped. */
function nearest(absolute: string): string | undefined {
  if (existsSync(absolute)) return yamlIn(absolute)
  const parent = existsSync(dirname(absolute)) ? dirname(absolute) : nearestFolder(dirname(absolute))
  if (parent === undefined) return undefined
  const entries = readdirSync(parent)
  const name = basename(absolute)
  const guess = suggest(
    name,
    entries.filter((entry) => /\.ya?ml$/.test(entry)),
  )
  if (entries.includes(name) && statSync(join(parent, name)).isFile()) return join(parent, name)
  return guess === undefined ? yamlIn(parent) : join(parent, guess)
}

function yamlIn(folder: string): string | undefined {
  if (!statSync(folder).isDirectory()) return undefined
  const names = readdirSync(folder).filter((entry) => /\.ya?ml$/.test(entry))
  const name = names.includes('config.yaml') ? 'config.yaml' : names.sort((a, b) => a.length - b.length)[0]
  return name === undefined ? undefined : join(folder, name)
}
