/** @file Ranks must be of one mind: the same settings and the same model, or the key that differs is named. */
import type { Group } from '../../collective/index.ts'
import { explain, type JobConfig } from '../../config/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { programHash } from '../../program/index.ts'
import { UserError } from '../../util/index.ts'
import { meet } from './meet.ts'

/** Where data and results lie, how much is read ahead and printed: each rank's own business. */
const OWN =
  /^(config|runner\..*_(dir|path)|runner\.(reader_threads|thread_num|infer_thread_num|print_interval|use_gpu))$/

export async function agree(group: Group, config: JobConfig, model: TracedModel): Promise<void> {
  const settings = Object.entries(explain(config)).filter(([key]) => !OWN.test(key))
  const own: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(settings),
    model: programHash(model.train).slice(0, 12),
    optimizer: [model.optimizer, model.tableOptimizers],
  }
  const [first = {}, ...others] = await meet(group, own)
  for (const [i, other] of others.entries()) {
    const keys = new Set([...Object.keys(first), ...Object.keys(other)])
    const different = [...keys].find((key) => JSON.stringify(first[key]) !== JSON.stringify(other[key]))
    if (different !== undefined) throw differs(different, first[different], i + 1, other[different])
  }
}

function differs(key: string, first: unknown, rank: number, other: unknown): UserError {
  const shown = (value: unknown) => (value === undefined ? 'its default' : JSON.stringify(value))
  return new UserError(`${key} is ${shown(first)} on rank 0 and ${shown(other)} on rank ${rank}`, {
    code: 'COLLECTIVE_CONFIG',
    hint: 'start all ranks with the same config.yaml, model files and -o overrides',
  })
}
