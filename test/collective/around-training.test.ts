/** @file What surrounds training on ranks, with real processes: evaluation, stopping, exports, accessors, elastic jobs. */
import { readFileSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eventsOf, noneAlive, ofKind, run } from '../cluster/launch.testing.ts'
import { freePorts } from '../ports.testing.ts'
import { inferTiny, TRAIN_ONLY, tinyFolder, trainTiny } from '../train/tiny.testing.ts'
import { startRanks, stopOne, trainTogether } from './training.testing.ts'

vi.setConfig({ testTimeout: 240_000 })

const ACCESSOR = `
table_parameters:
  ids:
    entry: "show_click_entry::click"
    accessor:
      accessor_class: CtrCommonAccessor
      embed_sgd_param: { name: SparseAdaGradSGDRule }
      embedx_sgd_param: { name: SparseAdaGradSGDRule }
`

let folder: string
beforeAll(async () => {
  folder = await tinyFolder(320)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const save = (name: string) => `runner.model_save_path=${folder}/${name}`
const DIVIDED = 'runner.replicated_table_mb=0'

test('oarfish infer on two ranks measures what one process does, each rank over its part', async () => {
  await trainTiny(folder, [save('trained')])
  const load = [`runner.infer_load_path=${folder}/trained`, 'runner.infer_end_epoch=1']
  const { result } = await inferTiny(folder, load)
  const ranks = await trainTogether({ folder, size: 2, command: ['infer'], overrides: load })
  for (const { samples, metrics } of ranks) {
    expect(samples).toBe(result.samples)
    expect(metrics['auc']).toBeCloseTo(result.epochs[0]!.metrics['auc']!, 6)
  }
  expect(ranks[0]!.notices).toContainEqual(expect.stringContaining('chunks are dealt out'))
})

test('with another number of processes an epoch in which ranks were stopped begins anew', async () => {
  const overrides = [save('stopped'), DIVIDED, 'runner.epochs=100000', 'runner.print_interval=1']
  const epoch = await stopOne(await startRanks({ folder, config: TRAIN_ONLY, size: 2, overrides }))
  const { result, events } = await trainTiny(folder, [save('stopped'), `runner.epochs=${epoch + 1}`], { resume: true })
  expect(result.samples).toBe(240)
  expect(ofKind(events, 'warning').map(({ message }) => message)).toContainEqual(
    expect.stringContaining(`2 ranks were stopped inside epoch ${epoch}, and the rest of it cannot be dealt out anew`),
  )
})

test('a model for inference is written also where tables are divided: the same as where they are whole', async () => {
  const inference = 'runner.use_inference=True'
  await trainTogether({ folder, size: 2, overrides: [save('divided'), inference, DIVIDED] })
  await trainTogether({ folder, size: 2, overrides: [save('whole'), inference] })
  const manifest = (name: string) => JSON.parse(readFileSync(join(folder, name, '0/inference/manifest.json'), 'utf8'))
  expect(Object.keys(manifest('divided').files).length).toBeGreaterThan(1)
  expect(manifest('divided').files).toEqual(manifest('whole').files)
  expect(manifest('divided').samples).toEqual(manifest('whole').samples)
})

test('accessors on ranks: tables divided or whole come to the same', async () => {
  await writeFile(join(folder, 'accessor.yaml'), (await readFile(join(folder, 'config.yaml'), 'utf8')) + ACCESSOR)
  const of = async (...overrides: string[]) =>
    (
      await trainTogether({ folder, size: 2, config: 'accessor.yaml', overrides: ['runner.epochs=2', ...overrides] })
    )[0]!
  const [whole, divided] = [await of(), await of(DIVIDED)]
  expect(whole.samples).toBe(480)
  expect(divided.digest).toBe(whole.digest)
})

test('global_shuffle deals all samples out anew in each epoch, the same in each run and by seed', async () => {
  const of = async (way: string) => {
    const overrides = ['runner.reader_type=InmemoryDataset', `runner.${way}_shuffle=True`, 'runner.epochs=2']
    const ranks = await trainTogether({ folder, size: 2, overrides })
    expect(ranks.map(({ samples }) => samples)).toEqual([480, 480])
    expect(ranks[1]!.digest).toBe(ranks[0]!.digest)
    return ranks[0]!.digest
  }
  const first = await of('global')
  expect(await of('global')).toBe(first)
  expect(await of('local')).not.toBe(first)
})

test('an elastic job trains alone, starts again when a second host comes, and goes on from the last cut', async () => {
  const master = `127.0.0.1:${(await freePorts(1))[0]}`
  const overrides = [save('elastic'), 'runner.epochs=100000', 'runner.keep_checkpoints=2']
  const node = (rank: number, onOutput: (all: string, end: () => void) => void) =>
    run(
      'oarfish',
      [
        ...[
          'launch',
          '--master',
          master,
          '--nnodes',
          '1:2',
          '--elastic_timeout',
          '1',
          '--rank',
          String(rank),
          '--json',
        ],
        ...['--log_dir', `log-${rank}`, 'tools/static_trainer.py', '-m', 'config.yaml', '-o', ...overrides],
      ],
      { cwd: folder, timeoutMs: 200_000, onOutput: (all, child) => onOutput(all, () => child.kill('SIGINT')) },
    )
  let second: ReturnType<typeof run> | undefined
  const first = node(0, (all, end) => {
    if (/Already save model in .*elastic\/1/.test(all)) second ??= node(1, () => undefined)
    if (/2 ranks have read 240 samples/.test(all)) end()
  })
  const { out, mark } = await first
  const other = await second!
  expect(await noneAlive(mark)).toEqual([])
  expect(await noneAlive(other.mark)).toEqual([])
  expect(out).toContain('Going on from the last cut with 2 of 1:2 hosts, 2 ranks.')
  const lines = ofKind(eventsOf({ out: out.slice(0, out.lastIndexOf('\n') + 1) }), 'output').map(({ line }) => line)
  const restarted = lines.slice(lines.findIndex((line) => /Rank 0 of 2/.test(line)))
  const begun = restarted.find((line) => /epoch: (\d+), batch_id: 0/.test(line))!
  expect(Number(/epoch: (\d+)/.exec(begun)![1])).toBeGreaterThanOrEqual(2)
})
