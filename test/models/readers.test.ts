/** @file The readers of PaddleRec's own files that stand beside models. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import type { Sample } from '../../src/data/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-readers-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

async function samplesOf(reader: string, text: string, hyper_parameters: object = {}, custom: object = {}) {
  const file = join(folder, 'part-000')
  await writeFile(file, text)
  const { RecDataset } = await import(fileURLToPath(new URL(`../../models/${reader}.ts`, import.meta.url)))
  const samples: Sample[] = []
  for await (const sample of new RecDataset([file], { runner: { custom }, hyper_parameters })) samples.push(sample)
  return samples
}

test('census: marital label, income label, features', async () => {
  expect(await samplesOf('multitask/mmoe/census_reader', '0,1,0.5,2\n\n1,0,3,4\n')).toEqual([
    { input: [0.5, 2], label_income: 1, label_marital: 0 },
    { input: [3, 4], label_income: 0, label_marital: 1 },
  ])
})

test('Ali-CCP: fields in the order of their names, at most max_len values, 0 where there is none', async () => {
  const [sample] = await samplesOf(
    'multitask/esmm/esmm_reader',
    '7,1,0,101:5,301:9,150_14:1,150_14:2,150_14:3,999:4\n',
    {
      max_len: 2,
    },
  )
  expect(sample).toMatchObject({ ctr: 1, cvr: 0, field_0: ['5'], field_1: [0], field_4: ['1', '2'], field_22: ['9'] })
  expect(Object.keys(sample!)).toHaveLength(25)
})

test('BQ: tabs between texts, commas between values', async () => {
  expect(await samplesOf('match/dssm/bq_reader_train', '0,1\t1,0\t0,0\t1,1\n')).toEqual([
    { query: [0, 1], doc_pos: [1, 0], doc_neg_0: [0, 0], doc_neg_1: [1, 1] },
  ])
})

test('BQ to test on: empty documents to compare with', async () => {
  expect(await samplesOf('match/dssm/bq_reader_infer', '0,1\t1,0\n', { neg_num: 2 })).toEqual([
    { query: [0, 1], doc_pos: [1, 0], doc_neg_0: [0, 0], doc_neg_1: [0, 0] },
  ])
})

test('BQ word by word: padding is left out, and a line without a title is named', async () => {
  expect(await samplesOf('match/multiview-simnet/bq_reader_train', '0:4 0:6 0:0 1:5 1:0 2:7\n')).toEqual([
    { 0: ['4', '6'], 1: ['5'], 2: ['7'] },
  ])
  const read = samplesOf('match/multiview-simnet/bq_reader_train', '0:4 2:7\n')
  await expect(read).rejects.toThrow('expected words of a query (0:) and of a title (1:)')
})

test('analogies: each half is a pair; an unknown word has the number of <UNK>, else 0', async () => {
  const text = ': headings are left out\nSubject0word0 subject0word1 Atlantis common3\n'
  const custom = {
    word_id_dict_path: 'data/dict/word_id_dict.txt',
    word_count_dict_path: 'data/dict/word_count_dict.txt',
  }
  expect(await samplesOf('recall/word2vec/word2vec_infer_reader', text, { with_shuffle_batch: true }, custom)).toEqual([
    { input_word: 40, true_label: 41 },
    { input_word: 0, true_label: 3 },
  ])
})

test('MovieLens: user, item, label', async () => {
  expect(await samplesOf('recall/ncf/movielens_reader', '4,6,1\n')).toEqual([
    { user_input: '4', item_input: '6', label: 1 },
  ])
})

test('Amazon: histories, candidate and label; lines that lack some are left out', async () => {
  expect(await samplesOf('rank/din/dinReader', '5 6;1 2;7;3;1\nbroken;line\n')).toEqual([
    { hist_item_seq: ['5', '6'], hist_cat_seq: ['1', '2'], target_item: '7', target_cat: '3', label: 1 },
  ])
})

test('Alimama: the elements of a history that are there, and categories drawn below cate_size', async () => {
  const part = (values: readonly number[]) => [...new Array(50 - values.length).fill(0), ...values].join(',')
  const history = [
    [1, 2],
    [7, 8],
    [70, 80],
    [1, 1],
    [0, 1],
  ].map(part)
  const line = [...history, '5,1,2,1,4,NULL,2,0,,9,8,6,4,80,0.5,1,1'].join(',')
  const [sample] = await samplesOf('rank/dmr/alimama_reader', `${line}\n`, { neg_num: 3, cate_size: 4 })
  expect(sample).toMatchObject({ btag_his: ['1', '2'], cate_his: ['7', '8'], brand_his: ['70', '80'] })
  expect(sample).toMatchObject({
    uid: '5',
    pvalue_level: '0',
    cate_id: '8',
    brand: '80',
    price: 0.5,
    pid: '1',
    label: 1,
  })
  const { neg_cate: drawn } = sample as { neg_cate: number[] }
  expect(drawn.filter((category) => category >= 1 && category < 4)).toHaveLength(3)
  await expect(samplesOf('rank/dmr/alimama_reader', '1,2,3\n')).rejects.toThrow('expected 267 columns, found 3')
})

test('sessions: the last max_len items and what came after each; a session of one is left out', async () => {
  expect(await samplesOf('recall/gru4rec/rsc15_reader', '1 2\n9\n3 4 5 6 7\n', { max_len: 3 })).toEqual([
    { src_wordseq: ['1'], dst_wordseq: [2, 0, 0] },
    { src_wordseq: ['4', '5', '6'], dst_wordseq: [5, 6, 7] },
  ])
})

test('ratings: the last two are left out, times in units of the shortest pause, no pause longer than time_span', async () => {
  const ratings = [
    [4, 100],
    [2, 160],
    [3, 100_000],
    [5, 100_060],
    [6, 100_180],
  ]
  const text = ratings.map(([item, time]) => `1\t${item}\t5\t${time}\n`).join('')
  const hyper = { maxlen: 3, num_items: 7, time_span: 4, neg_num: 2 }
  const [sample] = await samplesOf('recall/tisas/movielens_reader', text, hyper)
  expect(sample).toMatchObject({ history: [4, 2], next: [2, 3], time: [1, 2, 0] })
  const { other } = sample as { other: number[] }
  expect(other.filter((item) => item === 1 || item === 7)).toHaveLength(2) // what the user did not take
  const [last] = await samplesOf('recall/tisas/movielens_infer_reader', text, hyper)
  expect(last).toMatchObject({ history: [2, 3, 5], next: [3, 5, 6], time: [1, 5, 6] })
  await expect(samplesOf('recall/tisas/movielens_reader', '1\t9\t5\t100\n', hyper)).rejects.toThrow(
    'item 9 is not between 1 and hyper_parameters.num_items, 7',
  )
})

test("sessions as graphs: every item after the first is to be guessed; PaddleRec's lines are a sample each", async () => {
  const hyper = { maxlen: 2, sparse_feature_number: 9 }
  expect(await samplesOf('recall/sr_gnn/session_reader', '5 6 7 8\n', hyper)).toEqual([
    { session: [5, 0], label: 6 },
    { session: [5, 6], label: 7 },
    { session: [6, 7], label: 8 },
  ])
  expect(await samplesOf('recall/sr_gnn/session_reader', '5,6\t7\n', hyper)).toEqual([{ session: [5, 6], label: 7 }])
  await expect(samplesOf('recall/sr_gnn/session_reader', '5 9\n', hyper)).rejects.toThrow(
    'item 9 is not from 1 to below',
  )
})

test('news: what was read first, then others and the history; words filled with 0', async () => {
  const hyper = { article_title_size: 2, article_content_size: 1, browse_size: 2, neg_condidate_sample_size: 1 }
  const custom = { article_path: 'data/article.txt' }
  const articles = readFileSync(new URL('../../models/rank/naml/data/article.txt', import.meta.url), 'utf8').split('\n')
  const [, category, , title] = articles[4]!.split('\t')
  const [sample] = await samplesOf('rank/naml/NAMLDataReader', 'n7\tn4\tn1 n2\nn7\tn4\t\n', hyper, custom)
  expect(sample).toMatchObject({ category: [category, expect.anything(), expect.anything(), '0'] })
  const { title: words, title_words, content_words } = sample as Record<string, unknown[]>
  expect(words!.slice(0, 2)).toEqual(title!.split(' ').slice(0, 2))
  expect(words!.slice(-2)).toEqual(['0', '0'])
  expect([title_words![3], content_words]).toEqual([0, [1, 1, 1, 0]])
  await expect(samplesOf('rank/naml/NAMLDataReader', 'n7\tn4\n', hyper, custom)).rejects.toThrow('with tabs between')
})

test('an item beyond vocab_size is named', async () => {
  const read = samplesOf('recall/gru4rec/rsc15_reader', '1 2\n3 60 5\n', { vocab_size: 50 })
  await expect(read).rejects.toThrow('item 60 is not below hyper_parameters.vocab_size, 50')
})

test('the samples of the models are what scripts/model-samples.mjs writes', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const out = join(folder, 'samples')
  execFileSync(process.execPath, [join(root, 'scripts/model-samples.mjs'), out])
  const files = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((path) => /part-000|\.txt/.test(path))
  expect(files).toHaveLength(49)
  for (const file of files)
    expect(readFileSync(join(out, file)).equals(readFileSync(join(root, 'models', file))), file).toBe(true)
})

describe('sentences', () => {
  const text = `${Array.from({ length: 200 }, () => '10 11 12 13').join('\n')}\n`
  const custom = { word_count_dict_path: 'data/dict/word_count_dict.txt' }
  const read = (hyper: object) => samplesOf('recall/word2vec/word2vec_reader', text, hyper, custom)

  test('pair words at most window_size apart, the same at every reading', async () => {
    const samples = (await read({ window_size: 2 })) as { input_word: string; true_label: string }[]
    const distances = new Set(
      samples.map(({ input_word, true_label }) => Math.abs(Number(input_word) - Number(true_label))),
    )
    expect(distances).toEqual(new Set([1, 2]))
    expect(await read({ window_size: 2 })).toEqual(samples)
  })

  test('draw negatives by frequency: the most frequent word far more often than a rare one', async () => {
    const samples = (await read({ neg_num: 20 })) as { neg_label: number[] }[]
    const drawn = samples.flatMap(({ neg_label }) => neg_label)
    const share = (word: number) => drawn.filter((other) => other === word).length / drawn.length
    expect(drawn).toHaveLength(20 * samples.length)
    expect(share(0)).toBeGreaterThan(2 * share(39))
    expect(Math.max(...drawn)).toBeLessThan(240)
  })

  test('draw none where the batch lends them', async () => {
    expect((await read({ with_shuffle_batch: true }))[0]).not.toHaveProperty('neg_label')
  })
})
