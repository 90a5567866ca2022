/** @file `npm run bench -- --only accuracy --modes async,geo --workers 2,4 --seeds 8`: what several workers cost, beside one process. */
import { at } from '../tools.ts'
import type { Quality } from './measure.ts'
import { MODELS, type ModelName, OPTIMIZERS, type OptimizerName } from './models.ts'
import { CHOICES, FINAL, type Plan } from './plan.ts'
import { type RunSettings, Runs } from './runs.ts'
import { DATA, type DataName } from './samples.ts'
import { MODES, type Mode, RULES } from './simulate.ts'
import { type Line, table } from './table.ts'

/** Lists between commas, as they are given. */
export interface ModesOptions {
  /** Which part of plan.ts: `final` or `choices`. */
  readonly plan: string
  readonly modes: string
  readonly workers: string
  /** @default those of the plan */
  readonly models?: string | undefined
  readonly data?: string | undefined
  /** Optimizers in place of the models' own. */
  readonly optimizers: string
  readonly seeds: string
  readonly 'geo-step': string
  readonly 'geo-dense-step': string
  readonly 'geo-delta': string
  /** The file that keeps every run. */
  readonly results?: string | undefined
}

/** Prints a table for each model and data set; a second call measures only what the first has not. */
export async function measureModes(options: ModesOptions): Promise<void> {
  const plan = options.plan === 'choices' ? CHOICES : FINAL
  const runs = new Runs(options.results ?? at('.cache', 'bench', 'accuracy.jsonl'), process.env['OARFISH_DATA'])
  for (const { model, data } of tasksOf(plan, options)) {
    for (const optimizer of listed(options.optimizers, OPTIMIZERS)) {
      const lines = await linesOf(runs, plan, { model, data, optimizer }, options)
      console.log(`\n${model} on ${data} data, optimizer: ${optimizer}\n\n${table(lines)}`)
    }
  }
}

function tasksOf({ tasks }: Plan, { models, data }: ModesOptions) {
  const wanted = models === undefined ? undefined : listed(models, MODELS)
  const sets = data === undefined ? undefined : listed(data, DATA)
  // Pairs that the plan does not have are measured when they are asked for.
  if (wanted && sets) return wanted.flatMap((model) => sets.map((set) => ({ model, data: set })))
  return tasks.filter((task) => (wanted?.includes(task.model) ?? true) && (sets?.includes(task.data) ?? true))
}

interface Subject {
  readonly model: ModelName
  readonly data: DataName
  readonly optimizer: OptimizerName
}

async function linesOf(runs: Runs, plan: Plan, subject: Subject, options: ModesOptions): Promise<Line[]> {
  const { rows, testRows, batchSize, firstSeed } = plan
  const variants = variantsOf(options)
  const pairs = variants.map((): [Quality, Quality][] => [])
  for (let seed = firstSeed; seed < firstSeed + Number(options.seeds); seed++) {
    const shared = { ...subject, seed, rows, testRows, batchSize }
    const one = await runs.get({ ...shared, mode: 'one', workers: 1 })
    for (const [v, { settings }] of variants.entries())
      pairs[v]!.push([await runs.get({ ...shared, ...settings }), one])
  }
  return variants.map(({ name }, v) => ({ name, pairs: pairs[v]! }))
}

type Variant = Pick<RunSettings, 'mode' | 'workers' | 'rule' | 'geo'>

function variantsOf(options: ModesOptions): { readonly name: string; readonly settings: Variant }[] {
  const counts = numbers(options.workers)
  return listed(options.modes, MODES).flatMap((mode) => counts.flatMap((workers) => settingsOf(mode, workers, options)))
}

function settingsOf(mode: Mode, workers: number, options: ModesOptions) {
  const rule = RULES[mode]
  const shared = { mode, workers, ...(rule !== undefined && { rule }) }
  const name = mode === 'threads' ? `${workers} threads` : `${mode}, ${workers} workers`
  if (mode !== 'geo') return [{ name, settings: shared }]
  const delta = options['geo-delta'] === 'share' ? ('share' as const) : ('whole' as const)
  return numbers(options['geo-step']).flatMap((step) =>
    numbers(options['geo-dense-step']).map((denseStep) => ({
      name: `${name}, geo_step ${step}${denseStep === 2 ? '' : `, geo_dense_step ${denseStep}`}${delta === 'share' ? ', share' : ''}`,
      settings: { ...shared, geo: { step, denseStep, delta } },
    })),
  )
}

const numbers = (text: string) => text.split(',').map(Number)

function listed<T extends string>(text: string, known: readonly T[]): T[] {
  return text.split(',').map((name) => {
    const found = known.find((one) => one === name)
    if (found === undefined) throw new Error(`expected some of ${known.join(', ')}, found ${name}`)
    return found
  })
}
