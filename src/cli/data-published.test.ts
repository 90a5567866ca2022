import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { capture } from './capture.testing.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-published-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const prepare = (name: string) => capture(['data', name, '--from', folder, '--out', join(folder, 'out')])

test('amazon-sequences makes a history a line and says how many items there are', async () => {
  await writeFile(join(folder, 'Video.txt'), '1 7\n1 9\n1 3\n2 9\n2 4\n')
  const { code, out } = await prepare('amazon-sequences')
  expect(code).toBe(0)
  expect(out).toContain('hyper_parameters.item_num=9')
  expect(await readFile(join(folder, 'out/train/part-000'), 'utf8')).toBe('7 9 3\n9 4\n')
  expect(await readFile(join(folder, 'out/test/part-000'), 'utf8')).toBe('7 9 3\n9 4\n')
})

test.each([
  ['1 7\n2 9\n1 3\n', ':3', 'user 1 came before'],
  ['1 7\n1\n', ':2', 'expected 2 columns, found 1'],
  ['1 7\n1 0\n', ':2', 'expected the number of an item'],
])('amazon-sequences refuses %j at its line', async (text, line, message) => {
  await writeFile(join(folder, 'Video.txt'), text)
  const { code, err } = await prepare('amazon-sequences')
  expect(code).toBe(2)
  expect(err).toContain(`Video.txt${line}`)
  expect(err).toContain(message)
})

test('movielens joins ratings with users and films, in tabs or bars, and splits them', async () => {
  await writeFile(join(folder, 'u.user'), 'user|age|gender|occupation|zip\n1|24|M|technician|85711\n')
  const film = `|01-Jan-1995||http://x|${Array.from({ length: 19 }, (_, i) => (i === 3 ? 1 : 0)).join('|')}`
  await writeFile(join(folder, 'u.item'), Array.from({ length: 40 }, (_, i) => `${i + 1}|Film${film}\n`).join(''))
  const ratings = Array.from({ length: 40 }, (_, i) => `1\t${i + 1}\t${1 + (i % 5)}\t881250949\n`)
  await writeFile(join(folder, 'u.data'), ratings.join(''))
  const { code, out } = await prepare('movielens')
  expect(code).toBe(0)
  expect(out).toContain('hyper_parameters.sparse_inputs_slots=9')
  const [train, test] = await Promise.all(
    ['train', 'test'].map((part) => readFile(join(folder, 'out', part, 'part-000'), 'utf8')),
  )
  const rows = [...train!.trim().split('\n'), ...test!.trim().split('\n').filter(Boolean)]
  expect(rows).toHaveLength(40)
  expect(rows.filter((row) => row.startsWith('click:1'))).toHaveLength(16)
  expect(rows[0]).toMatch(/^click:[01] dense_feature:0\.2400 dense_feature:0\.\d{4} 1:\d+ 2:\d+ .* 8:\d+$/)
})

/** What the command says to type, for one epoch. */
const typed = (out: string) => {
  const [, words] = /^ {2}oarfish (.+)$/m.exec(out)!
  return capture([...words!.split(' '), 'runner.epochs=1', 'runner.model_save_path=', 'runner.run_dir='])
}

const written = async (part: string) =>
  (await readFile(join(folder, 'out', part, 'part-000'), 'utf8')).trim().split('\n')

test('census makes numbers and words to columns, and two labels', async () => {
  const row = (marital: string, income: string) =>
    `39, Private, 77516, HS-grad, 9, ${marital}, Sales, Husband, White, Male, 0, 0, 40, Peru, ${income}\n`
  await writeFile(join(folder, 'adult.data'), row('Never-married', '<=50K') + row('Divorced', '>50K'))
  await writeFile(join(folder, 'adult.test'), `|1x3 Cross validator\n${row('Never-married', '>50K.')}`)
  const { code, out } = await prepare('census')
  expect(code).toBe(0)
  expect(out).toContain('hyper_parameters.feature_size=12')
  const values = '12 0.3900 0.5625 0.0000 0.0000 0.4000 1 1 1 1 1 1 1'
  expect(await written('train')).toEqual([`${values} 1 0 1 1`, `${values} 1 1 1 0`])
  expect(await written('test')).toEqual([`${values} 1 1 1 1`])
  const trained = await typed(out)
  expect(trained.err).toBe('')
  expect(trained.code).toBe(0)
})

test('criteo scales dense values, hashes slots and leaves out what is missing', async () => {
  const line = (click: string) =>
    [click, '20', '', ...new Array(11).fill('0'), 'ab12', '', ...new Array(24).fill('ff')].join('\t')
  await writeFile(
    join(folder, 'train.txt'),
    `${Array.from({ length: 40 }, (_, i) => line(String(i % 2))).join('\n')}\n`,
  )
  expect((await prepare('criteo')).code).toBe(0)
  const [train, test] = await Promise.all([written('train'), written('test')])
  expect(train.length + test.length).toBe(40)
  expect(train[0]).toMatch(/^click:[01] dense_feature:1 dense_feature:0 (dense_feature:0 ){11}1:\d+ 3:\d+ .* 26:\d+$/)
  await writeFile(join(folder, 'train.txt'), `${line('2')}\n`)
  const { code, err } = await capture(['data', 'criteo', '--from', folder, '--out', join(folder, 'other')])
  expect([code, err]).toEqual([2, expect.stringMatching(/train\.txt:1[\s\S]*expected a click, 0 or 1, found "2"/)])
})

test('avazu keeps the last day for the test', async () => {
  const row = (hour: string) => ['7', '1', hour, ...Array.from({ length: 21 }, (_, i) => `v${i}`)].join(',')
  await writeFile(join(folder, 'train.csv'), `id,click,hour,rest\n${row('14102112')}\n${row('14103006')}\n`)
  const { code, out } = await prepare('avazu')
  expect(code).toBe(0)
  expect(out).toContain('-m paddlerec.models.rank.flen/config_bigdata.yaml -o hyper_parameters.sparse_inputs_slots=24 ')
  expect(out).toContain("'hyper_parameters.group_sizes=[5,10,8]'")
  expect((await written('train'))[0]).toMatch(/^click:1 dense_feature:0\.5000 1:\d+ .* 23:\d+$/)
  expect((await written('test'))[0]).toMatch(/^click:1 dense_feature:0\.2500 /)
})

test('ali-ccp joins what is known of the user with the impression', async () => {
  for (const part of ['train', 'test']) {
    await writeFile(join(folder, `common_features_${part}.csv`), 'k1,2,101\u00025\u00031.0\u0001121\u00027\u00031.0\n')
    const rows = ['1,1,0,k1,1,205\u00029\u00031.0', '2,0,1,k1,1,205\u00029\u00031.0', '3,1,1,k1,1,999\u00021\u00031.0']
    await writeFile(join(folder, `sample_skeleton_${part}.csv`), `${rows.join('\n')}\n`)
  }
  const { code, out } = await prepare('ali-ccp')
  expect(code).toBe(0)
  const [first, second, ...rest] = await written('train')
  expect(first).toMatch(/^field_0:\d+ field_5:\d+ field_13:\d+ ctr:1 cvr:0$/)
  expect(second).toMatch(/^field_0:\d+ field_5:\d+ ctr:1 cvr:1$/)
  expect(rest).toEqual([])
  expect(out).toContain('runner.reader_type=RecDataset runner.train_reader_path=reader ')
})

test('alimama joins ads and profiles, and names an ad that is not there', async () => {
  await writeFile(
    join(folder, 'ad_feature.csv'),
    'adgroup_id,cate_id,campaign_id,customer,brand,price\n11,1,2,3,NULL,170.0\n',
  )
  await writeFile(join(folder, 'user_profile.csv'), 'userid,a,b,c,d,e,f,g,h\n5,1,2,3,4,,6,7,8\n')
  const rows = ['5,1494000000,11,430548_1007,1,0', '6,1494691186,11,430548_1007,0,1']
  await writeFile(join(folder, 'raw_sample.csv'), `user,time_stamp,adgroup_id,pid,nonclk,clk\n${rows.join('\n')}\n`)
  expect((await prepare('alimama')).code).toBe(0)
  expect((await written('train'))[0]).toMatch(/^click:0 dense_feature:0\.5142 1:\d+ .* 6:\d+ 8:\d+ .* 15:\d+$/)
  expect((await written('test'))[0]).toMatch(/^click:1 dense_feature:0\.5142 1:\d+ .* 6:\d+$/)
  await writeFile(join(folder, 'raw_sample.csv'), 'user,time_stamp,adgroup_id,pid,nonclk,clk\n5,1494000000,12,p,1,0\n')
  const { err } = await capture(['data', 'alimama', '--from', folder, '--out', join(folder, 'other')])
  expect(err).toMatch(/raw_sample\.csv:2[\s\S]*ad 12 is not in ad_feature\.csv/)
})

test('a missing file is named', async () => {
  const { code, err } = await prepare('movielens')
  expect([code, err]).toEqual([2, expect.stringContaining('There is no file u.user.')])
})
