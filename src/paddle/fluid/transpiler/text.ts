/** @file Transpiled programs as text: what is sent, awaited and received. */
import type { TracedModel } from '../../../model/index.ts'
import type { PsMode } from '../../../training/ps/index.ts'
import type { Plan } from './plan.ts'
import type { PserverOptions } from './pserver.ts'
import type { Block } from './slicing.ts'

const DISTRIBUTED_MODES: { readonly [M in PsMode]: number } = { sync: 0, async: 1, half_async: 2, geo: 3 }

export interface TrainerText {
  readonly model: TracedModel
  readonly plan: Plan
  readonly servers: readonly string[]
  readonly mode: PsMode
  readonly trainerId: number
}

/** What takes the place of the optimizer's ops in a trainer. */
export function trainerLines({ model, plan, servers, mode, trainerId }: TrainerText): string[] {
  const learning = new Set(model.train.parameters.filter(({ trainable = true }) => trainable).map(({ name }) => name))
  const blocks = plan.blocks.filter(({ variable }) => learning.has(variable))
  const variables = [...new Set(blocks.map(({ variable }) => variable))].map((variable) => {
    const own = blocks.filter((block) => block.variable === variable)
    const gradients = own.map((block) =>
      mode === 'sync' ? `${gradientOf(block)}.trainer_${trainerId}` : gradientOf(block),
    )
    const endpoints = own.map(({ server }) => servers[server]!).join(', ')
    return { variable, names: own.map(({ name }) => name), gradients: gradients.join(', '), endpoints }
  })
  const all = servers.join(', ')
  const barrier = (kind: 'send' | 'fetch') => (mode === 'sync' ? [`${kind}_barrier() : ${all}`] : [])
  return [
    ...model.train.tables.map(({ name }) => `distributed_lookup_table(${name}) : ${all}`),
    ...variables.map(({ gradients, endpoints }) => `send(${gradients}) : ${endpoints}`),
    ...model.train.tables.map(({ name }) => `send(${name}@GRAD) : ${all}`),
    ...barrier('send'),
    ...variables.map(({ names, endpoints }) => `recv(${names.join(', ')}) : ${endpoints}`),
    ...barrier('fetch'),
    ...variables
      .filter(({ names }) => names.length > 1)
      .map(({ variable, names }) => `concat(${names.join(', ')}) -> ${variable}`),
  ]
}

/** `w@GRAD.block0` of `w.block0`. */
const gradientOf = ({ name, variable }: Block) => name.replace(variable, `${variable}@GRAD`)

export function pserverText({ cluster, model, plan, mode }: PserverOptions): string {
  const { workerNum: trainers, rank, endpoint } = cluster
  const mine = plan.blocks.filter(({ server }) => server === rank)
  const ids = Array.from({ length: trainers }, (_, i) => i)
  return [
    ...mine.map(({ name, shape }) => `parameter ${name} : float32[${shape.join(', ')}]`),
    ...model.train.tables.map(({ name, dim }) => `table ${name} : float32[-1, ${dim}]`),
    `listen_and_serv(endpoint: ${endpoint}, Fanin: ${trainers}, pserver_id: ${rank}, distributed_mode: ${DISTRIBUTED_MODES[mode]})`,
    ...mine.flatMap((block) => [
      ...(mode === 'sync' && trainers > 1
        ? [
            `  sum(${ids.map((id) => `${gradientOf(block)}.trainer_${id}`).join(', ')}) -> ${gradientOf(block)}`,
            `  scale(${gradientOf(block)}, ${1 / trainers})`,
          ]
        : []),
      `  ${model.optimizer.kind}(${block.name}, ${gradientOf(block)})`,
    ]),
    ...model.train.tables.map(({ name }) => `  ${model.optimizer.kind}(${name}, ${name}@GRAD)`),
  ].join('\n')
}
