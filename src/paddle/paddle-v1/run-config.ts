/** @file Runs a trainer_config.ts and takes down its calls: all that a reader thread needs of it. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { importUserModule, runUserCode } from '../../base/util/index.ts'
import { ConfigUnderWay, describing } from './config-scope.ts'
import { configError } from './errors.ts'

export async function runConfig(path: string, configArgs: string): Promise<ConfigUnderWay> {
  const file = locate(path)
  const config = new ConfigUnderWay(parseArgs(configArgs))
  await runUserCode(file, 'could not be loaded', () => describing(config, () => importUserModule(file)))
  return config
}

/** As typed; of a trainer_config.py that is not there, the .ts beside it. */
export function locate(path: string): string {
  const typescript = path.replace(/\.py$/, '.ts')
  const found = [path, typescript].find((candidate) => existsSync(candidate) && !candidate.endsWith('.py'))
  if (found !== undefined) return resolve(found)
  throw configError(
    existsSync(path) ? `${path} is a configuration in Python.` : `There is no configuration ${path}.`,
    `Write ${typescript}; docs/guide/trainer.md shows how the original's lines become TypeScript.`,
  )
}

function parseArgs(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter((pair) => pair !== '')
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}
