/** @file What is wrong with a 1.x yaml as a whole: not a map, the 2.x form, or a backend.yaml given as -m. */
import { isMap, isScalar, isSeq } from 'yaml'
import type { ConfigProblem } from '../problem.ts'
import { type ConfigSource, findNode, valueSpan } from '../source.ts'

export function shapeProblemV1(source: ConfigSource): ConfigProblem | undefined {
  const root = source.document.contents
  if (!isMap(root)) {
    return problem(
      '',
      'expected workspace, mode, runner, dataset and phase',
      'start from the example in docs/config-v1.md',
    )
  }
  const keys = new Set(root.items.map(({ key }) => (isScalar(key) ? String(key.value) : '')))
  if (keys.has('backend') && !keys.has('runner')) {
    return problem(
      'backend',
      'this is a backend.yaml',
      `name the model's config.yaml: -m config.yaml -b ${source.file}`,
    )
  }
  const runner = findNode(source, ['runner'])
  if (!runner || isSeq(runner) || !isMap(runner) || isV1(keys)) return undefined
  return {
    code: 'CONFIG_VALUE',
    key: 'runner',
    message: 'expected a list of runners, the PaddleRec 1.x form; this is one group of keys, the 2.x form',
    place: { kind: 'file', span: valueSpan(source, ['runner']) },
    fix: { kind: 'advice', text: `use: oarfish train -m ${source.file}` },
  }
}

const isV1 = (keys: ReadonlySet<string>) => keys.has('mode') || keys.has('phase')

function problem(key: string, message: string, text: string): ConfigProblem {
  return {
    code: 'CONFIG_VALUE',
    key,
    message,
    place: { kind: 'file', span: { from: 0, to: 1 } },
    fix: { kind: 'advice', text },
  }
}
