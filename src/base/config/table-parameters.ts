/** @file `table_parameters`: accessor, optimizer rule and storage of a parameter server's sparse table, by table name. */
import { z } from 'zod'
import { SIZE, UserError } from '../util/index.ts'

const described = <T extends z.ZodType>(schema: T, description: string) => schema.optional().meta({ description })
const number = (description: string) => described(z.number(), description)
const whole = (description: string) => described(z.int().min(0), description)
const flag = (description: string) => described(z.boolean(), description)
const oneOf = <const L extends readonly [string, ...string[]]>(list: L, description: string) =>
  described(z.enum(list), description)

export const TABLE_CLASSES = [
  'MemorySparseTable',
  'SSDSparseTable',
  'MemorySparseGeoTable',
  'CommonSparseTable',
] as const
/** Those of src/base/kernel/row-weights.ts, which is a floor above. */
export const PRECISIONS = ['float32', 'bfloat16'] as const
export const EVICTION_KINDS = ['lru', 'score', 'unseen_days'] as const
export const ACCESSOR_CLASSES = ['SparseAccessor', 'CtrCommonAccessor', 'CtrDoubleAccessor', 'CtrDymfAccessor'] as const
export const SGD_RULES = [
  'SparseNaiveSGDRule',
  'SparseAdaGradSGDRule',
  'StdAdaGradSGDRule',
  'SparseAdaGradV2SGDRule',
  'SparseAdamSGDRule',
  'SparseSharedAdamSGDRule',
] as const

/** Entry policies as Paddle writes them. */
export const ENTRY_TEXT = /^(count_filter_entry:\d+|probability_entry:\d*\.?\d+|show_click_entry:[^:]*:[^:]*)$/

const bounds = described(z.tuple([z.number(), z.number()]), 'Weights are held between these two values.')
const rate = number('Learning rate.')
const range = number('New weights are uniform in plus or minus this.')

const sgdParam = z.strictObject({
  name: oneOf(SGD_RULES, 'The rule.'),
  naive: described(
    z.strictObject({ learning_rate: rate, initial_range: range, weight_bounds: bounds }),
    'For SparseNaiveSGDRule.',
  ),
  adagrad: described(
    z.strictObject({
      learning_rate: rate,
      initial_g2sum: number('Start of the squared sum.'),
      initial_range: range,
      weight_bounds: bounds,
    }),
    'For the AdaGrad rules.',
  ),
  adam: described(
    z.strictObject({
      learning_rate: rate,
      initial_range: range,
      beta1_decay_rate: number('Decay of the first moment.'),
      beta2_decay_rate: number('Decay of the second moment.'),
      ada_epsilon: number('Added to the root.'),
      weight_bounds: bounds,
    }),
    'For the Adam rules.',
  ),
})

const ctrAccessorParam = z.strictObject({
  nonclk_coeff: number('Weight of a show without click in the score (0.1).'),
  click_coeff: number('Weight of a click in the score (1).'),
  base_threshold: number('Score from which a row is in a base model (0).'),
  delta_threshold: number('Score gained since the last delta from which a row is in a delta model (0).'),
  delta_keep_days: number('Days unseen after which a row is left out of delta models (16).'),
  show_click_decay_rate: number('Daily factor on show and click (1).'),
  delete_threshold: number('Score below which shrink deletes a row (0).'),
  delete_after_unseen_days: number('Days unseen after which shrink deletes a row (30).'),
  ssd_unseenday_threshold: number('Days unseen after which a row moves to disk (1).'),
  show_scale: flag('Divide the gradient by show.'),
  zero_init: flag('New embed weights are zero (True).'),
  load_filter_slots: described(z.array(z.number()), 'Slots left out when loading.'),
  save_filter_slots: described(z.array(z.number()), 'Slots left out when saving.'),
})

const saveParam = z.strictObject({
  num: whole('How many of the following.'),
  param: described(z.array(z.int()), 'Save modes.'),
  converter: described(z.string(), 'Command that writes.'),
  deconverter: described(z.string(), 'Command that reads.'),
})

const accessor = z.strictObject({
  accessor_class: oneOf(ACCESSOR_CLASSES, 'What a row holds besides its weights.'),
  fea_dim: whole('Width of a row as it travels.'),
  embedx_dim: whole('Width of the part that is made late.'),
  embedx_threshold: number('Score from which that part is made (0).'),
  embed_sgd_param: described(sgdParam, 'Rule of the first weight.'),
  embedx_sgd_param: described(sgdParam, 'Rule of the other weights.'),
  ctr_accessor_param: described(ctrAccessorParam, 'Score, decay and deletion.'),
  table_accessor_save_param: described(saveParam, 'Converters by save mode.'),
})

export const tableParameters = z.strictObject({
  table_class: oneOf(
    TABLE_CLASSES,
    'Where rows live. SSDSparseTable: those that memory_limit leaves no room for on a disk.',
  ),
  memory_limit: described(
    z.string().regex(SIZE),
    'The most memory of this table in a process, index and buffers included: `512MB`, `4GB`. What does not fit goes to the disk (SSDSparseTable: half of the memory of the host or container) or, of other tables, is given up, those wanted least first (no limit).',
  ),
  ssd_path: described(
    z.string().min(1),
    'A folder on a local disk for the rows of an SSDSparseTable, relative to the working folder (model_save_path, or the temporary folder).',
  ),
  eviction: oneOf(
    EVICTION_KINDS,
    'Which rows leave memory first: lru, those not wanted for longest; score or unseen_days, those of least score or longest unseen (tables with an accessor) (lru).',
  ),
  row_precision: oneOf(
    PRECISIONS,
    'How rows keep their weights in memory, on the disk and in checkpoints: bfloat16 takes half the bytes, and updates are rounded up or down by chance. Optimizer state and exports stay float32 (float32).',
  ),
  shard_num: described(z.int().min(1), 'Logical shards of the table and its files (1000).'),
  compress_in_save: flag('Write .gz files.'),
  enable_sparse_table_cache: flag('Keep the hottest rows as a cache model.'),
  sparse_table_cache_rate: number('Share of the rows in it.'),
  sparse_table_cache_file_num: whole('Files of it.'),
  enable_revert: flag('Allow going back to the last save.'),
  shard_merge_rate: number('Share of shards merged when saving.'),
  use_gpu_graph: flag('Graph tables on a GPU.'),
  entry: described(
    z.string().regex(ENTRY_TEXT),
    'Which signs get a row, or where show and click come from: count_filter_entry:N, probability_entry:P, show_click_entry:SHOW:CLICK (names of dense slots).',
  ),
  accessor: described(accessor, 'Row layout and rules.'),
})
export type TableParameters = z.infer<typeof tableParameters>

/**
 * `strategy.sparse_table_configs` of the Fleet API, by table: the same settings with flat keys such as
 * `table_parameters.embedding.accessor.accessor_class`, as Paddle's YamlHelper gives them.
 */
export function sparseTableConfigs(
  configs: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Record<string, TableParameters> {
  return Object.fromEntries(
    Object.entries(configs).map(([table, flat]) => {
      const parsed = tableParameters.safeParse(unflatten(flat, `table_parameters.${table}.`))
      if (parsed.success) return [table, parsed.data]
      const [issue] = parsed.error.issues
      throw new UserError(`sparse_table_configs of table ${table}: ${issue?.path.join('.')}: ${issue?.message}`, {
        code: 'TABLE_CONFIG',
        hint: 'use the keys of table_parameters in docs/reference/config.md, each with table_parameters.<table>. before it',
      })
    }),
  )
}

function unflatten(flat: Readonly<Record<string, unknown>>, prefix: string): Record<string, unknown> {
  const nested: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(flat)) {
    const path = (key.startsWith(prefix) ? key.slice(prefix.length) : key).split('.')
    let at = nested
    for (const name of path.slice(0, -1)) {
      at[name] ??= {}
      at = at[name] as Record<string, unknown>
    }
    at[path.at(-1)!] = value
  }
  return nested
}
