/** @file DMR: how well a user's history matches the item at hand, found in two ways, as features of a click. */
import { defineModel, metric, optimizer, optimizerKeys, z } from 'oarfish'
import * as nn from 'oarfish/nn'
import {
  add,
  concat,
  div,
  expand,
  maskedSoftmax,
  matmul,
  maximum,
  mean,
  mul,
  pad,
  reshape,
  sigmoid,
  slice,
  split,
  stack,
  sum,
  type Tensor,
  unsqueeze,
} from 'oarfish/nn'

/** Columns of PaddleRec's files: those with rows of main_embedding_size, and the short ones. */
const USER = ['cms_segid', 'cms_group_id', 'final_gender_code', 'age_level', 'pvalue_level', 'shopping_level'] as const
const SHORT = [...USER, 'occupation', 'new_user_class_level', 'pid'] as const
const LONG = ['uid', 'mid', 'campaign_id', 'customer'] as const
const PRELU = 0.1

export default defineModel({
  hyperParameters: {
    optimizer: optimizerKeys('Adam', { learning_rate: z.number().positive().default(0.008) }),
    main_embedding_size: z.int().positive().default(32),
    other_embedding_size: z.int().positive().default(8),
    /** Places of a history that have a vector of their own, counted from its end. */
    history_length: z.int().min(2).default(50),
    /** Categories that the last one of a history is told from: alimama_reader.ts draws so many, below cate_size. */
    neg_num: z.int().positive().default(20),
    cate_size: z.int().min(2).default(12_978),
    att_sizes: z.array(z.int().positive()).min(1).default([80, 40]),
    fc_sizes: z.array(z.int().positive()).min(1).default([512, 256, 128]),
    /** How much the auxiliary loss counts. */
    aux_weight: z.number().min(0).default(0.1),
    /** Kept for PaddleRec's sake, as all that follow: rows live in tables of no fixed size. */
    user_size: z.int().positive().default(1_141_730),
    cms_segid_size: z.int().positive().default(97),
    cms_group_id_size: z.int().positive().default(13),
    final_gender_code_size: z.int().positive().default(3),
    age_level_size: z.int().positive().default(7),
    pvalue_level_size: z.int().positive().default(4),
    shopping_level_size: z.int().positive().default(4),
    occupation_size: z.int().positive().default(3),
    new_user_class_level_size: z.int().positive().default(5),
    adgroup_id_size: z.int().positive().default(846_812),
    campaign_id_size: z.int().positive().default(423_437),
    customer_size: z.int().positive().default(255_876),
    brand_size: z.int().positive().default(461_529),
    btag_size: z.int().positive().default(5),
    pid_size: z.int().positive().default(2),
  },

  /** What was done (btag) with which category and brand, in order; the item at hand; categories that were drawn; and who, where and what else. */
  inputs: ({ sparse, dense, label }) => ({
    history: { btag: sparse('btag_his'), category: sparse('cate_his'), brand: sparse('brand_his') },
    target: { category: sparse('cate_id'), brand: sparse('brand') },
    others: sparse('neg_cate'),
    short: SHORT.map((name) => sparse(name)),
    long: LONG.map((name) => sparse(name)),
    price: dense('price', 1),
    label: label('label'),
  }),

  net({ history, target, others, short, long, price, label }, hyper, { training }) {
    const { main_embedding_size: main, other_embedding_size: other, history_length: places, att_sizes: sizes } = hyper
    const length = 'T_history'
    const seen = (part: 'category' | 'brand') =>
      nn.sequenceEmbedding(history[part], { name: `${part}_his`, table: part, dim: main, length })
    const now = (part: 'category' | 'brand') => nn.embedding(target[part], { name: part, dim: main })
    const { x: categories, mask } = seen('category')
    const items = concat([categories, seen('brand').x], 2) // [B, T, width]
    const item = concat([now('category'), now('brand')], 1) // [B, width]
    const width = 2 * main

    /** How much each element of the history counts: a network beside what is known of it, where it stands and what was done. */
    const scores = (name: string, known: readonly Tensor[]) => {
      const tag = nn.sequenceEmbedding(history.btag, { name: `${name}_btag`, dim: other, length }).x
      const place = nn.placeEmbedding(mask, { name: `${name}_position`, length: places, dim: other })
      const aligned = nn.linear(concat([...known, place, tag], 2), { name: `${name}_align`, out: width })
      const queries = nn.prelu(aligned, { name: `${name}_prelu`, init: PRELU })
      return new nn.AttentionUnit({ width, sizes }).named(`${name}_att`).scores(queries, items) // [B, T]
    }

    // User to item: the user's vector should match the category looked at last, by what came before it.
    const counts = scores('u2i', [])
    const before = pad(slice(mask, 1, 1), 1, 0, 1) // [B, T]: all but the last
    const shares = stack([maskedSoftmax(counts, mask), maskedSoftmax(counts, before)], 1) // [B, 2, T]
    const pooled = nn.linear(matmul(shares, items), { name: 'u2i_fc', out: main })
    const [user, earlier] = split(nn.prelu(pooled, { name: 'u2i_fc_prelu', init: PRELU }), 2, 1).map((x) =>
      reshape(x, [-1, main]),
    )
    const matched = { table: 'match', dim: main }
    const u2i = sum(mul(user!, nn.embedding(target.category, { name: 'match', ...matched })), 1, true) // [B, 1]

    // Item to item: the history by what each of it has to do with the item at hand.
    const related = scores('i2i', [expand(unsqueeze(item, 1), items.shape)])
    const i2i = sum(mul(related, mask), 1, true) // [B, 1]
    const interest = reshape(matmul(unsqueeze(maskedSoftmax(related, mask), 1), items), [-1, width])

    const total = sum(items, 1)
    const profile = [
      ...short.map((slot, i) => nn.embedding(slot, { name: SHORT[i]!, dim: other })),
      ...long.map((slot, i) => nn.embedding(slot, { name: LONG[i]!, dim: main })),
    ]
    const features = concat([...profile, item, price, total, mul(item, total), u2i, i2i, interest], 1)
    const normed = nn.batchNorm(features, { name: 'norm', epsilon: 0.001 })
    const hidden = hyper.fc_sizes.reduce(
      (x, out, i) => nn.prelu(nn.linear(x, { name: `fc.${i}`, out }), { name: `fc.${i}`, init: PRELU }),
      normed,
    )
    const logit = nn.linear(hidden, { name: 'logit', out: 1 })
    const loss = mean(nn.sigmoidCrossEntropy(logit, label))
    if (!training) return { loss, outputs: { predict: sigmoid(logit) } }

    const { x: rows } = nn.sequenceEmbedding(history.category, { name: 'match_his', ...matched, length })
    const drawn = nn.sequenceEmbedding(others, { name: 'match_neg', ...matched, length: hyper.neg_num })
    const auxiliary = matchLoss(earlier!, nn.lastElement(rows, mask), drawn, slice(before, 1, 0, 1))
    return { loss: add(loss, mul(auxiliary, hyper.aux_weight)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { label }) => ({ auc: metric.auc(predict, label) }),

  optimizer: (hyper) => optimizer.adam({ learningRate: hyper.optimizer.learning_rate, lazy: true }),
})

/** Negative sampling: the own category against 1 and the drawn ones against 0, over samples that have (1, else 0) a category before the last. */
function matchLoss(
  user: Tensor,
  own: Tensor,
  drawn: { readonly x: Tensor; readonly mask: Tensor },
  has: Tensor,
): Tensor {
  const against = (logits: Tensor, value: number) => nn.sigmoidCrossEntropy(logits, add(mul(logits, 0), value))
  const negative = reshape(matmul(drawn.x, unsqueeze(user, 2)), drawn.mask.shape) // [B, neg]
  const others = sum(mul(against(negative, 0), drawn.mask), 1, true)
  const each = add(against(sum(mul(user, own), 1, true), 1), others) // [B, 1]
  return div(sum(mul(each, has)), maximum(sum(has), 1))
}
