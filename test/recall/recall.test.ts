/** @file Vectors, indexes and recall over HTTP of models that ship: what they find, and what is refused. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/base/config/index.ts'
import { openIndex, readVectors, recall, Searcher, writeIndex } from '../../src/inference/recall/index.ts'
import { serve } from '../../src/inference/serve/index.ts'
import { buildIndex, exportVectors, infer, train } from '../../src/training/driver/index.ts'

const MODELS = fileURLToPath(new URL('../../models/', import.meta.url))
const emit = () => {}
let folder: string
const at = (...names: string[]) => join(folder, ...names)

/** A model that ships, saved below the test's folder. */
function configOf(model: string, overrides: readonly string[] = []) {
  const save = [`runner.model_save_path=${at(model.replace('/', '-'))}`, 'runner.run_dir=', 'runner.epochs=1']
  return loadConfig({ path: join(MODELS, model, 'config.yaml'), overrides: [...save, ...overrides] })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-recall-'))
  await train({ config: configOf('recall/two_tower'), emit })
  await buildIndex({ config: configOf('recall/two_tower'), out: at('index'), emit })
}, 120_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

const plainDot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0)

describe('vectors', () => {
  test('of items and users are those whose products the model scores by, in files that numpy reads', async () => {
    const config = configOf('recall/two_tower')
    await exportVectors({ config, kind: 'item', out: at('items'), emit })
    await exportVectors({ config, kind: 'user', out: at('users'), emit })
    const [items, users] = [await readVectors(at('items')), await readVectors(at('users'))]
    expect(items.manifest).toMatchObject({ kind: 'item', count: 200, dim: 16, model: { name: 'two_tower', epoch: 0 } })
    expect(items.ids).toHaveLength(200)
    expect(users.manifest.count).toBe(400)
    for (let i = 0; i < 5; i++) expect(Math.hypot(...items.data.subarray(16 * i, 16 * i + 16))).toBeCloseTo(1, 5)
    const bytes = await readFile(at('items', 'vectors.npy'))
    expect(bytes.toString('latin1', 0, 8)).toBe('\x93NUMPY\x01\x00')
    const header = bytes.toString('latin1', 10, 10 + bytes.readUInt16LE(8))
    expect(header.trim()).toBe("{'descr': '<f4', 'fortran_order': False, 'shape': (200, 16), }")
    expect((10 + header.length) % 64).toBe(0)
    expect(bytes.length).toBe(10 + header.length + 4 * 200 * 16)
    expect(bytes.readFloatLE(10 + header.length)).toBe(items.data[0])
  })

  test('of a list of ids are of these, and of nothing else', async () => {
    await writeFile(at('some.txt'), '7\n3\n\n12\n')
    const config = configOf('recall/two_tower')
    await exportVectors({ config, kind: 'item', out: at('some'), from: at('some.txt'), emit })
    expect([...(await readVectors(at('some'))).ids]).toEqual([7n, 3n, 12n])
  })

  test.each([
    ['7\n7\n', /item 7 is there twice/],
    ['7\nhistory:3\n', /"history:3" is no id/],
    ['18446744073709551616\n', /above 2\^64-1/],
    ['\n', /there are no items/],
  ])('of items %j are refused', async (text, message) => {
    await writeFile(at('bad.txt'), text)
    const options = {
      config: configOf('recall/two_tower'),
      kind: 'item',
      out: at('bad'),
      from: at('bad.txt'),
      emit,
    } as const
    await expect(exportVectors(options)).rejects.toThrow(message)
  })

  test('are not those of a model that says nothing of them', async () => {
    const config = configOf('rank/dnn')
    await expect(exportVectors({ config, kind: 'item', out: at('none'), emit })).rejects.toThrow(/no vectors\.item/)
  })
})

describe('an index', () => {
  test('finds what a plain comparison of all items finds, without those seen, and all where k is larger', async () => {
    const index = await openIndex(at('index'))
    expect(index.manifest).toMatchObject({ kind: 'exact', count: 200, dim: 16, seen: ['history'] })
    const searcher = new Searcher(index)
    const users = await readVectors(at('users'))
    const query = users.data.subarray(0, 16)
    const { ids, data } = await readVectors(at('items'))
    const scored = Array.from(ids, (id, i) => ({ id, score: plainDot(query, data.subarray(16 * i, 16 * i + 16)) }))
    const expected = scored.sort((a, b) => b.score - a.score).map(({ id }) => id)
    const [found] = searcher.search({ data: query }, { k: 10 })
    expect(found!.ids).toEqual(expected.slice(0, 10))
    const [others] = searcher.search({ data: query }, { k: 5, exclude: [expected.slice(0, 3)] })
    expect(others!.ids).toEqual(expected.slice(3, 8))
    expect(searcher.search({ data: query }, { k: 1000 })[0]!.ids).toHaveLength(200)
    expect(() => searcher.search({ data: query }, { k: 0 })).toThrow(/k is 0/)
    expect(() => searcher.itemQueries([999_999n])).toThrow(/no item 999999/)
  })

  test('that is approximate finds the share that was asked for', async () => {
    const [count, dim] = [3000, 8]
    const data = Float32Array.from({ length: count * dim }, (_, i) => Math.sin(i * 12.9898) * Math.cos(i * 0.37))
    const ids = BigUint64Array.from({ length: count }, (_, i) => BigInt(i) + 2n ** 63n)
    const model = { name: 'made', epoch: 0, steps: 1, seed: 1, weights: '0' }
    const items = { ids, data, dim, interests: 1 }
    const { lists } = await writeIndex({ folder: at('lists'), items, model, kind: 'approximate', recall: 0.9 })
    expect(lists!.recall50).toBeGreaterThanOrEqual(0.9)
    expect(lists!.probes).toBeLessThan(lists!.count)
    const searcher = new Searcher(await openIndex(at('lists')))
    const queries = searcher.itemQueries([ids[5]!, ids[77]!])
    const [near, exact] = [searcher.search(queries, { k: 50 }), searcher.search(queries, { k: 50, exact: true })]
    near.forEach((one, i) => {
      expect(one.ids[0]).toBe(exact[i]!.ids[0])
      expect(one.ids.filter((id) => exact[i]!.ids.includes(id)).length).toBeGreaterThan(30)
    })
    // More than the lists it would look into hold.
    expect(searcher.search(queries, { k: count }).map((one) => one.ids.length)).toEqual([count, count])
  })

  test('of another model, of other widths, empty or damaged is refused, with what differs', async () => {
    await exportVectors({ config: configOf('recall/two_tower'), kind: 'item', out: at('other'), emit })
    const file = at('other', 'manifest.json')
    const manifest = JSON.parse(await readFile(file, 'utf8'))
    const changed = { ...manifest, model: { ...manifest.model, epoch: 7, weights: 'ffff' } }
    await writeFile(file, JSON.stringify(changed))
    const build = () =>
      buildIndex({ config: configOf('recall/two_tower'), vectors: at('other'), out: at('mixed'), emit })
    await expect(build()).rejects.toThrow(/of another model: epoch is 7, not 0; weights is ffff, not [0-9a-f]{16}$/)
    await writeFile(file, JSON.stringify({ ...manifest, dim: 15 }))
    await expect(build()).rejects.toThrow(/shape \(200, 16\), the manifest says \(200, 15\)/)

    await buildIndex({ config: configOf('recall/two_tower'), out: at('swapped'), emit })
    await writeFile(at('swapped', 'items', 'manifest.json'), JSON.stringify(changed))
    await expect(openIndex(at('swapped'))).rejects.toThrow(/of another model: epoch is 7, not 0; weights/)
    const model = manifest.model
    const nothing = { ids: new BigUint64Array(), data: new Float32Array(), dim: 4, interests: 1 }
    await expect(writeIndex({ folder: at('empty'), items: nothing, model })).rejects.toThrow(/there are no items/)
    await writeFile(at('swapped', 'items', 'manifest.json'), JSON.stringify(manifest))
    await writeFile(at('swapped', 'items', 'ids.npy'), 'cut off')
    await expect(openIndex(at('swapped'))).rejects.toThrow(/checksum does not match/)
    await expect(openIndex(at('items'))).rejects.toThrow(/its format is "oarfish-vectors", not "oarfish-index"/)
    await writeFile(at('some.txt'), 'x')
    await expect(writeIndex({ folder: folder, items: nothing, model })).rejects.toThrow(/no items|something else/)
  })
})

describe('POST /recall', () => {
  test('answers with the items that files give, leaves out what was seen, and says what is wrong', async () => {
    const served = await serve({ index: at('index'), port: 0, threads: 1, emit })
    const post = async (body: unknown, query = '', headers = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const init = {
        method: 'POST',
        headers: { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json', ...headers },
        body: text,
      }
      const response = await fetch(`${served.url}/recall${query}`, init)
      return { status: response.status, text: await response.text() }
    }
    const asked = async (body: unknown, query = '') => JSON.parse((await post(body, query)).text)
    try {
      const history = [11, 15, 2]
      const line = 'history:11 history:15 history:2'
      const [fromFile] = (await all(recall({ index: at('index'), k: 4, input: textOf(`${line}\n`) }))).flat()
      const answer = await asked({ instances: [{ history }], k: 4 })
      expect(answer).toEqual({ ids: [fromFile!.ids.map(String)], scores: [expect.any(Array)], epoch: 0 })
      const plain = await post(`${line}\n`, '?k=4', { accept: 'text/plain' })
      expect(
        plain.text
          .trim()
          .split(' ')
          .map((pair) => pair.split(':')[0]),
      ).toEqual(answer.ids[0])

      const seen = await asked({ instances: [{ history: answer.ids[0] }], k: 200, exclude: true })
      expect(seen.ids[0]).toHaveLength(196)
      for (const id of answer.ids[0]) expect(seen.ids[0]).not.toContain(id)
      expect((await asked({ instances: [{ history }], k: 4, exclude: [answer.ids[0][0]] })).ids[0]).not.toContain(
        answer.ids[0][0],
      )
      expect((await asked({ instances: [{ history }] }, '?k=1&exclude=history')).ids[0]).toHaveLength(1)
      const like = await asked({ items: [answer.ids[0][0]], k: 3 })
      expect(like.ids[0]).not.toContain(answer.ids[0][0])

      expect((await post({ items: [999_999] })).status).toBe(404)
      expect((await asked({ instances: [{ history }], k: 0 })).error.code).toBe('RECALL_K')
      expect((await asked({ instances: [{ history }], exclude: 'histery' })).error.message).toMatch(
        /did you mean "history"/,
      )
      expect((await asked({ instances: [{ history }], exclude: [[1], [2]] })).error.message).toMatch(
        /2 lists for 1 inst/,
      )
      expect((await asked({ instances: [{}] })).error.code).toBe('SERVE_MISSING_SLOT')
      expect((await fetch(`${served.url}/predict`, { method: 'POST', body: '{}' })).status).toBe(404)
      const described = await (await fetch(`${served.url}/openapi.json`)).json()
      expect(Object.keys((described as { paths: object }).paths)).toContain('/recall')
    } finally {
      await served.close()
    }
  })
})

describe('runner.recall_at', () => {
  test('of a softmax over all items is what the model itself counts', async () => {
    const config = configOf('recall/youtube_dnn', ['runner.recall_at=[10]'])
    const { evaluation } = await train({ config, emit })
    expect(evaluation!['recall@10']).toBeCloseTo(evaluation!['recall']!, 6)
    expect(evaluation!['ndcg@10']).toBeGreaterThan(evaluation!['recall']! / Math.log2(11) - 1e-6)
    expect(evaluation!['mrr']).toBeGreaterThan(0)
    const again = await infer({ config: configOf('recall/youtube_dnn', ['runner.recall_at=[10]']), emit })
    expect(again.epochs[0]!.metrics['mrr']).toBe(evaluation!['mrr'])
  })

  test('is that of a plain ranking, without what was seen', async () => {
    const overrides = ['runner.recall_at=[5]', 'runner.recall_exclude=[history]']
    const { epochs } = await infer({ config: configOf('recall/two_tower', overrides), emit })
    const [items, users] = [await readVectors(at('items')), await readVectors(at('users'))]
    const test = await readFile(join(MODELS, 'recall/two_tower/data/sample_data/test/part-000'), 'utf8')
    const ranks = test
      .trim()
      .split('\n')
      .map((line, u) => {
        const signs = (slot: string) =>
          [...line.matchAll(new RegExp(`\\b${slot}:(\\d+)`, 'g'))].map((match) => BigInt(match[1]!))
        const [taken] = signs('item')
        const seen = new Set(signs('history'))
        const query = users.data.subarray(16 * u, 16 * u + 16)
        const score = (i: number) => plainDot(query, items.data.subarray(16 * i, 16 * i + 16))
        const own = items.ids.indexOf(taken!)
        return Array.from(items.ids.keys()).filter(
          (i) => i === own || (score(i) >= score(own) && !seen.has(items.ids[i]!)),
        ).length
      })
    const share = ranks.filter((rank) => rank <= 5).length / ranks.length
    // A tie in float32 need not be one in float64: two of four hundred may differ.
    expect(Math.abs(epochs[0]!.metrics['recall@5']! - share)).toBeLessThan(0.006)
  })

  test('is refused of a model without vectors, before it trains', async () => {
    await expect(train({ config: configOf('rank/dnn', ['runner.recall_at=[5]']), emit })).rejects.toThrow(
      /no vectors\.user/,
    )
    const sessions = configOf('recall/gru4rec', ['runner.recall_at=[5]'])
    await expect(train({ config: sessions, emit })).rejects.toThrow(/does not say which item/)
  })
})

async function* textOf(text: string) {
  yield new TextEncoder().encode(text)
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
