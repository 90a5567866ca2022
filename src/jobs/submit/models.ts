/** @file Models of a job that its nodes would not find: the folder of a job is flat, and has what `submit.files` names. Pure but for a look at this folder. */
import { existsSync } from 'node:fs'
import { basename, dirname, extname, join, relative } from 'node:path'
import {
  type ConfigProblem,
  type LoadedRunConfig,
  phasesOf,
  problemIn,
  type RunnerV1,
} from '../../base/config/index.ts'

export function modelProblems(
  { config, source }: LoadedRunConfig,
  runners: readonly RunnerV1[],
  names: readonly string[],
  cwd: string,
): readonly ConfigProblem[] {
  const phases = new Set(runners.flatMap((runner) => phasesOf(config, runner)))
  return [...phases].flatMap((phase) => {
    // Elsewhere, or in a folder that a hook may make: only the nodes know.
    if (dirname(relative(cwd, phase.model)) !== '.') return []
    const wanted = basename(phase.model, extname(phase.model))
    const candidates = [`${wanted}.ts`, `${wanted}.js`, 'static_model.ts']
    if (candidates.some((name) => names.includes(name))) return []
    const here = candidates.find((name) => existsSync(join(cwd, name)))
    const message =
      here === undefined
        ? `no such model: neither ${candidates[0]} nor static_model.ts is in ${cwd}`
        : `${here} does not go to the nodes: it is not among submit.files of backend.yaml`
    return [problemIn(source, ['phase', config.phase.indexOf(phase), 'model'], `phase.${phase.name}.model`, message)]
  })
}
