/** @file A program's inference model: an export of what its targets need, and beside it what they were. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inference } from '../autodiff/index.ts'
import { joinColumns } from '../data/index.ts'
import { planExport, writeExport } from '../export/index.ts'
import type { InferenceToWrite } from '../fleet/index.ts'
import type { LocalParams } from '../params/index.ts'
import { suggest, UserError } from '../util/index.ts'
import type { Program } from './program.ts'
import { planTargets } from './targets.ts'
import { slotsOf } from './traced.ts'
import type { Variable } from './variable.ts'

/** Beside the export: what the targets were. */
export const TARGETS_FILE = 'fluid.json'

export interface InferenceModelOptions {
  readonly dirname: string
  readonly feeds: readonly string[]
  readonly targets: readonly Variable[]
  readonly params: LocalParams
}

export async function writeInferenceModel(
  program: Program,
  { dirname, feeds, targets: variables, params }: InferenceModelOptions,
): Promise<void> {
  const { targets, outputs } = planTargets(variables)
  const names = Object.keys(outputs)
  const built = program.builder.build(outputs)
  const slots = slotsOf(program.data)
  const { optimizer } = params.handle.dense
  const infer = inference(built, names)
  const model = { slots, train: built, infer, metrics: [], outputs: names, optimizer, tableOptimizers: {} }
  const plan = planExport(model, { feeds })
  const { randomSeed: seed } = program
  await writeExport({ folder: dirname, plan, params, epoch: 0, seed, samples: joinColumns(slots, []) })
  await writeFile(join(dirname, TARGETS_FILE), `${JSON.stringify({ feeds, targets }, null, 2)}\n`)
}

/** What fleet.saveInferenceModel calls on worker 0; without targets, the predictions whose AUC is measured, else the loss. */
export function inferenceWriter(program: Program) {
  return ({ targets, ...options }: InferenceToWrite): Promise<void> => {
    const aucs = program.variables.filter(({ source }) => source.kind === 'auc')
    const usual = aucs.length > 0 ? aucs.slice(0, 1) : [program.minimized!.loss]
    const named = targets.map((target) => variableOf(program, typeof target === 'string' ? target : target.name))
    return writeInferenceModel(program, { ...options, targets: named.length > 0 ? named : usual })
  }
}

function variableOf({ variables }: Program, name: string): Variable {
  const found = variables.find((variable) => variable.name === name)
  if (found) return found
  const near = suggest(
    name,
    variables.map((variable) => variable.name),
  )
  throw new UserError(`saveInferenceModel: the program has no variable "${name}"`, {
    code: 'FLUID_FETCH',
    hint: near ? `did you mean ${near}?` : 'pass variables of the program as targetVars',
  })
}
