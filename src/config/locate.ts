/** @file Finds the yaml that `-m` names, or says what stands nearest to it. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suggest } from '../util/index.ts'
import { nearestFolder } from './paths.ts'
import { ConfigError } from './problem.ts'

/** The absolute path of the config. `paddlerec.models.rank.dnn` is the folder of that name in this package. */
export function locateConfig(path: string, cwd: string): string {
  const shipped = /^paddlerec(\.\w+)+$/.test(path)
  const absolute = shipped ? join(packageRoot(), ...path.split('.').slice(1), 'config.yaml') : resolve(cwd, path)
  if (existsSync(absolute) && statSync(absolute).isFile()) return absolute
  const near = nearest(absolute)
  const to = near === undefined ? undefined : shipped ? near : displayPath(near, path, cwd)
  throw new ConfigError(
    [
      {
        code: 'CONFIG_NOT_FOUND',
        key: '',
        message: existsSync(absolute) ? 'this is a folder, expected a config.yaml' : 'no such file',
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

// The same distance from src/config and dist/config.
export const packageRoot = () => fileURLToPath(new URL('../..', import.meta.url))

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
