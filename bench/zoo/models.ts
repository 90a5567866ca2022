/** @file What the zoo is measured on: real sets, and for each model the hyper-parameters that it and its PyTorch twin share. */

import {
  bstCandidates,
  candidates,
  conversions,
  fieldsOfClicks,
  nextGames,
  pairs,
  type Rows,
  takenGames,
  watches,
} from './forms.ts'

export type SetName =
  | 'movielens'
  | 'fields'
  | 'conversions'
  | 'candidates'
  | 'candidates-bst'
  | 'pairs'
  | 'watches'
  | 'census'
  | 'games-next'
  | 'games-taken'

export interface SetSpec {
  /** The folder of OARFISH_DATA that has the raw files. */
  readonly folder: string
  /** What the rows are. */
  readonly about: string
  /** Slots of MultiSlot text in order; slot text needs none. */
  readonly columns?: readonly string[]
  /** Slots of ids besides those that are numbers or fields. */
  readonly sparse?: readonly string[]
  readonly batch: number
  readonly epochs: number
  /** How rows are made of the raw files where `oarfish data <name>` does not; of what that wrote, where `of` names it. */
  readonly rows?: (folder: string) => Rows
  readonly of?: SetName
}

const HISTORY = [
  'hist_item_seq',
  'hist_cat_seq',
  'neg_hist_item_seq',
  'neg_hist_cat_seq',
  'target_item',
  'target_cat',
  'position',
  'userid',
  'target_position',
]
const BST = ['userid', 'history', 'cate', 'position', 'target', 'target_cate', 'target_position']

/** Prepared by `oarfish data <name>` or forms.ts. Batch, epochs and rate were set once for all models of a set, not tuned. */
export const SETS: Readonly<Record<SetName, SetSpec>> = {
  movielens: { folder: 'ml-100k', about: 'MovieLens 100k as clicks', batch: 256, epochs: 2 },
  fields: {
    ...{ folder: 'ml-100k', about: 'the same clicks as features and values', batch: 256, epochs: 2 },
    ...{ of: 'movielens', rows: fieldsOfClicks, sparse: ['feat_index'] },
  },
  conversions: {
    ...{ folder: 'ml-100k', about: 'four or five stars are a click, five a purchase', batch: 256, epochs: 2 },
    rows: conversions,
  },
  candidates: {
    ...{ folder: 'ml-100k', about: 'behind 20 liked films the next one, or another', batch: 64, epochs: 2 },
    ...{ rows: candidates, sparse: HISTORY },
  },
  'candidates-bst': {
    ...{ folder: 'ml-100k', about: "the same rows with BST's slots", batch: 64, epochs: 2 },
    ...{ rows: bstCandidates, sparse: BST },
  },
  pairs: {
    ...{ folder: 'ml-100k', about: 'users and films, liked or not seen', batch: 256, epochs: 3 },
    ...{ rows: pairs, sparse: ['user_input', 'item_input'] },
  },
  watches: {
    ...{ folder: 'ml-100k', about: 'behind 20 liked films the next one, of all', batch: 64, epochs: 2 },
    ...{ rows: watches, sparse: ['watch', 'search'] },
  },
  census: {
    ...{ folder: 'census', about: "UCI's census, income and marital status", batch: 256, epochs: 4 },
    columns: ['input', 'label_income', 'label_marital'],
  },
  'games-next': {
    ...{ folder: 'games', about: 'the next game after every one, 100 others beside the last', batch: 128, epochs: 3 },
    ...{ rows: nextGames, sparse: ['history', 'next', 'other'] },
  },
  'games-taken': {
    ...{ folder: 'games', about: 'the next game among those of a batch', batch: 256, epochs: 3 },
    ...{ rows: takenGames, sparse: ['history', 'hist_item', 'item', 'target_item'] },
  },
}

export const RATE = 0.001

export interface ZooModel {
  readonly set: SetName
  readonly hyper: Readonly<Record<string, unknown>>
  /** What the twin must know besides: counts that the model has from elsewhere. */
  readonly twin?: Readonly<Record<string, unknown>>
  /** L2 penalties that the model has built in, by the start of a weight's name. */
  readonly decay?: readonly (readonly [string, number])[]
  /** Where it is not RATE. */
  readonly rate?: number
  /** The model's optimizer is plain SGD. */
  readonly sgd?: boolean
  /** Of the model's Adam, where it is not 0.999. */
  readonly beta2?: number
  /** The key of the learning rate. */
  readonly rateKey?: string
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

const purchases = (hyper: Readonly<Record<string, unknown>>): ZooModel => ({
  set: 'conversions',
  hyper: { num_field: 6, sparse_feature_dim: 9, ...hyper },
})
const behind = (hyper: Readonly<Record<string, unknown>>): ZooModel => ({
  ...{ set: 'candidates', hyper, rate: 0.85, sgd: true, rateKey: 'optimizer.learning_rate_base_lr' },
})
const next = (hyper: Readonly<Record<string, unknown>>): ZooModel => ({
  ...{ set: 'games-next', beta2: 0.98 },
  hyper: {
    ...{ item_num: 23_715, maxlen: 50, hidden_units: 50, num_blocks: 2, num_heads: 1, neg_num: 100, recall_k: 10 },
    ...{ lazy_rows: true, ...hyper },
  },
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
  'rank/autoint': {
    set: 'fields',
    hyper: { num_field: 10, embedding_dim: 9, head_num: 2, attn_layer_sizes: [16, 16], use_wide: true },
  },
  'rank/dlrm': {
    ...plain({ bot_layer_sizes: [16, 9], top_layer_sizes: [64, 32, 2], num_field: 8 }),
    ...{ rate: 0.1, sgd: true },
  },
  'rank/masknet': ctr({ model_type: 'serial', reduction_ratio: 1 }),
  'rank/ppnet': ctr({ prior_slots: [1, 2], gate_size: 16 }),
  'rank/finalnet': plain({ block_type: '2B', block1_sizes: [64], block2_sizes: [64, 32] }),
  'rank/dcn_v2': {
    ...ctr({ cross_num: 2, low_rank: 8, num_experts: 2, dropout_rate: 0, l2_reg_cross: 0, clip_by_norm: 1000 }),
    decay: [['dnn', 0.0000001]],
  },
  'multitask/esmm': purchases({ ctr_fc_sizes: [64, 32], cvr_fc_sizes: [64, 32] }),
  'multitask/escm2': purchases({
    ...{ fc_sizes: [64, 32], counterfact_mode: 'DR', counterfactual_weight: 0.1, global_weight: 1 },
    propensity_floor: 0.01,
  }),
  'multitask/aitm': purchases({ fc_sizes: [64, 32], constraint_weight: 0.6 }),
  'multitask/pepnet': purchases({ fc_sizes: [64, 32], domain_fields: [5], person_fields: [0, 4] }),
  'multitask/mmoe': census({ expert_num: 8, expert_size: 16 }),
  'multitask/share_bottom': census({ bottom_size: 117 }),
  'multitask/ple': census({ shared_num: 2, exp_per_task: 3, level_number: 2, expert_size: 16 }),
  'rank/din': behind({ item_emb_size: 16, cat_emb_size: 16, fc_sizes: [40, 20], act: 'sigmoid' }),
  'rank/dien': behind({
    ...{ item_emb_size: 16, cat_emb_size: 16, fc_sizes: [40, 20], act: 'sigmoid' },
    ...{ max_len: 20, aux_weight: 1 },
  }),
  'rank/bst': {
    ...{ set: 'candidates-bst', rate: 0.01, sgd: true },
    hyper: {
      ...{ item_emb_size: 16, cat_emb_size: 8, position_emb_size: 8, d_model: 32, n_head: 4, n_encoder_layers: 1 },
      ...{ d_inner_hid: 64, fc_sizes: [64, 32], dropout_rate: 0 },
    },
  },
  'recall/ncf': { set: 'pairs', hyper: { mf_dim: 8, fc_layers: [64, 32, 16, 8] } },
  'recall/youtube_dnn': {
    ...{ set: 'watches', rate: 0.1, sgd: true },
    hyper: {
      ...{ watch_vec_size: 32, search_vec_size: 8, other_feat_size: 3, output_size: 1682, layers: [64, 32] },
      ...{ neg_num: 0, recall_k: 10 },
    },
  },
  'recall/sasrec': next({ dropout_rate: 0.2 }),
  'recall/hstu': next({ dropout_rate: 0.2 }),
  'recall/two_tower': {
    set: 'games-taken',
    hyper: { embedding_dim: 32, fc_sizes: [64, 32], temperature: 0.1, recall_k: 10 },
  },
  'recall/mind': {
    set: 'games-taken',
    hyper: {
      ...{ embedding_dim: 32, hidden_size: 32, maxlen: 20, pow_p: 1, recall_k: 10 },
      capsual: { iters: 3, max_k: 4, init_std: 1 },
    },
  },
}

/** Models that neither MovieLens nor the games nor the census can feed, or that have no twin that trains. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'rank/naml': 'news with titles and texts (MIND)',
  'rank/dmr': "Alibaba's display ads with their user profiles",
  'rank/slot_dnn': 'the days of an online log with 300 slots; it has no twin',
  'rank/bert4rec': 'the games or MovieLens could feed it; its twin is not trained yet',
  'recall/tisas': 'the games or MovieLens could feed it; its twin is not trained yet',
  'recall/gru4rec': 'the games or MovieLens could feed it; its twin is not trained yet',
  'recall/sr_gnn': 'its twin builds graphs session by session, too slow to train',
  'recall/word2vec': 'a text of a billion words',
  'match/dssm': 'pairs of queries and texts (BQ)',
  'match/multiview-simnet': 'pairs of queries and texts (BQ)',
  'contentunderstanding/tagspace': 'news texts with tags (AG news)',
  'contentunderstanding/textcnn': 'reviews (ChnSentiCorp)',
  'treebased/tdm': 'a tree of items beside the rows (UserBehavior)',
}
