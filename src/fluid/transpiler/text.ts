/** @file Transpiled programs as text: what is sent, awaited and received. */

import type { TracedModel } from '../../model/index.ts'
import type { PsMode } from '../../ps/index.ts'
import type { Plan } from './plan.ts'
import type { PserverOptions } from './pserver.ts'

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
  const variables = [...new Set(blocks.map(({ variable }) => variable))]
  const own = (variable: string) => blocks.filter((block) => block.variable === variable)
  const sent = (name: string) => (mode === 'sync' ? `${name}.trainer_${trainerId}` : name)
  const endpoints = (variable: string) =>
    own(variable)
      .map(({ server }) => servers[server]!)
      .join(', ')
  const gradients = (variable: string) =>
    own(variable)
      .map(({ name }) => sent(name.replace(variable, `${variable}@GRAD`)))
      .join(', ')
  return [
    ...model.train.tables.map(({ name }) => `distributed_lookup_table(${name}) : ${servers.join(', ')}`),
    ...variables.map((variable) => `send(${gradients(variable)}) : ${endpoints(variable)}`),
    ...model.train.tables.map(({ name }) => `send(${name}@GRAD) : ${servers.join(', ')}`),
    ...(mode === 'sync' ? [`send_barrier() : ${servers.join(', ')}`] : []),
    ...variables.map(
      (variable) =>
        `recv(${own(variable)
          .map(({ name }) => name)
          .join(', ')}) : ${endpoints(variable)}`,
    ),
    ...(mode === 'sync' ? [`fetch_barrier() : ${servers.join(', ')}`] : []),
    ...variables.flatMap((variable) =>
      own(variable).length > 1
        ? [
            `concat(${own(variable)
              .map(({ name }) => name)
              .join(', ')}) -> ${variable}`,
          ]
        : [],
    ),
  ]
}

export function pserverText({ cluster, model, plan, mode }: PserverOptions): string {
  const { workerNum: trainers, rank, endpoint } = cluster
  const mine = plan.blocks.filter(({ server }) => server === rank)
  const ids = Array.from({ length: trainers }, (_, i) => i)
  const gradientOf = ({ name, variable }: (typeof mine)[number]) => name.replace(variable, `${variable}@GRAD`)
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
