/** @file The group `optimizer` of PaddleRec's hyper_parameters, which every model of it has. */
import { z } from 'zod'

/**
 * `hyper_parameters.optimizer`: its class, which the model decides and a config may repeat; the strategy, accepted for PaddleRec's sake, since
 * runner.sync_mode decides; and the model's own keys.
 *
 * @example hyperParameters: { optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.001) }) }
 */
export function optimizerKeys<const Shape extends z.ZodRawShape>(name: string, keys: Shape) {
  const common = { class: z.enum([name, name.toLowerCase()]).default(name), strategy: z.string().default('async') }
  // Rows of the zoo's models move only when their sign is in the batch, as with lazy_mode=True in PaddleRec's static_model.py.
  const lazy = name === 'Adam' ? { adam_lazy_mode: z.literal(true).optional() } : {}
  return z.strictObject({ ...common, ...lazy, ...keys }).prefault({} as never)
}
