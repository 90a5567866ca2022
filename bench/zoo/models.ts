/** @file What the zoo is measured on: real sets, and for each model the hyper-parameters that it and its PyTorch twin share. */

export type SetName = 'movielens' | 'census'

export interface SetSpec {
  /** The folder of OARFISH_DATA that has the raw files. */
  readonly folder: string
  /** Slots of MultiSlot text in order; slot text needs none. */
  readonly columns?: readonly string[]
  readonly batch: number
  readonly epochs: number
}

/** Prepared by `oarfish data <name>`. Batch, epochs and rate were set once for all models of a set, not tuned. */
export const SETS: Readonly<Record<SetName, SetSpec>> = {
  movielens: { folder: 'ml-100k', batch: 256, epochs: 2 },
  census: { folder: 'census', columns: ['input', 'label_income', 'label_marital'], batch: 256, epochs: 4 },
}

export const RATE = 0.001

export interface ZooModel {
  readonly set: SetName
  readonly hyper: Readonly<Record<string, unknown>>
  /** What the twin must know besides: counts that the model has from elsewhere. */
  readonly twin?: Readonly<Record<string, unknown>>
  /** L2 penalties that the model has built in, by the start of a weight's name. */
  readonly decay?: readonly (readonly [string, number])[]
}

const slots = { sparse_inputs_slots: 9, dense_input_dim: 2 }
const deep = { ...slots, sparse_feature_dim: 9, fc_sizes: [64, 32] }
const ctr = (hyper: Readonly<Record<string, unknown>> = {}): ZooModel => ({
  set: 'movielens',
  hyper: { ...deep, ...hyper },
})
const plain = (hyper: Readonly<Record<string, unknown>> = {}): ZooModel => ({
  set: 'movielens',
  hyper: { ...slots, sparse_feature_dim: 9, ...hyper },
})
const census = (hyper: Readonly<Record<string, unknown>>): ZooModel => ({
  set: 'census',
  hyper: { tower_size: 8, ...hyper },
})

export const ZOO: Readonly<Record<string, ZooModel>> = {
  'rank/logistic_regression': {
    set: 'movielens',
    hyper: { num_field: 10, dense_input_dim: 2, reg: 0.0001 },
    twin: slots,
  },
  'rank/fm': plain(),
  'rank/ffm': plain({ sparse_feature_dim: 4 }),
  'rank/fwfm': plain(),
  'rank/afm': plain({ attention_size: 8, dropout_rate: 0 }),
  'rank/nfm': ctr({ dropout_rate: 0 }),
  'rank/dnn': ctr(),
  'rank/wide_deep': ctr(),
  'rank/deepfm': ctr(),
  'rank/pnn': ctr({ product_type: 'inner' }),
  'rank/dcn': ctr({ cross_num: 2, l2_reg_cross: 0 }),
  'rank/xdeepfm': {
    ...plain({ layer_sizes_dnn: [64, 32], layer_sizes_cin: [16, 16] }),
    decay: [
      ['cin', 0.0001],
      ['dnn', 0.0001],
    ],
  },
  'rank/fibinet': ctr({ bilinear_type: 'all', reduction_ratio: 3, dropout_rate: 0 }),
  'rank/deepfefm': ctr(),
  'rank/difm': ctr({ att_factor_dim: 8, att_head_num: 2 }),
  'rank/gatenet': ctr(),
  'rank/flen': ctr({ group_sizes: [3, 3, 2] }),
  'rank/fgcnn': ctr({ filters: [4, 6], kernel: [3, 3], pooling: [2, 2], new_filters: [2, 2] }),
  'rank/wukong': ctr({ layer_num: 2, fmb_num: 8, lcb_num: 8, rank: 4, fmb_sizes: [32] }),
  'multitask/mmoe': census({ expert_num: 8, expert_size: 16 }),
  'multitask/share_bottom': census({ bottom_size: 117 }),
  'multitask/ple': census({ shared_num: 2, exp_per_task: 3, level_number: 2, expert_size: 16 }),
}
