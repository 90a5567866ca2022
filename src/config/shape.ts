/** @file What is wrong with a yaml as a whole: not a map, a PaddleRec 1.x config; and where keys belong that stand in the wrong group. */
import { isMap, isSeq } from 'yaml'
import type { ConfigProblem } from './problem.ts'
import { runnerSchema, userConfigSchema } from './schema.ts'
import { type ConfigSource, findNode, valueSpan } from './source.ts'
import { keysOf, type Path } from './walk.ts'

export function shapeProblem(source: ConfigSource): ConfigProblem | undefined {
  const root = source.document.contents
  if (root !== null && !isMap(root)) {
    return {
      code: 'CONFIG_VALUE',
      key: '',
      message: 'expected the groups runner and hyper_parameters, each with its keys',
      place: { kind: 'file', span: { from: 0, to: 1 } },
      fix: { kind: 'advice', text: 'start from models/rank/dnn/config.yaml' },
    }
  }
  if (!isSeq(findNode(source, ['runner']))) return undefined
  return {
    code: 'CONFIG_NOT_IN_BUILD',
    key: 'runner',
    message: 'a list of runners is the PaddleRec 1.x form, which this build does not read yet',
    place: { kind: 'file', span: valueSpan(source, ['runner']) },
    fix: { kind: 'advice', text: 'write `runner:` as one group of keys, as models/rank/dnn/config.yaml has it' },
  }
}

/** Where a key belongs that was written under another group. */
export function elsewhere(key: string): Path | undefined {
  if (keysOf(runnerSchema).includes(key)) return ['runner', key]
  if (keysOf(userConfigSchema).includes(key)) return [key]
  return HYPER_PARAMETERS[key]
}

const HYPER_PARAMETERS: Readonly<Record<string, Path>> = {
  optimizer: ['hyper_parameters', 'optimizer'],
  learning_rate: ['hyper_parameters', 'optimizer', 'learning_rate'],
}
