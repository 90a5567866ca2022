/** @file Forms of PaddleRec's own configs that mean the same as others, and what is refused with its reason. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ConfigError, loadConfig, loadRunConfig } from '../../src/base/config/index.ts'
import { findDataFiles } from '../../src/training/threads/index.ts'
import { oarfish } from '../oarfish.testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-forms-'))
afterAll(() => rmSync(folder, { recursive: true }))
let configs = 0
const put = (text: string) => {
  const path = join(folder, `config-${configs++}.yaml`)
  writeFileSync(path, text)
  return path
}
const load = (text: string) => loadConfig({ path: put(text), cwd: folder })
function refusal(text: string, read: (path: string) => unknown = (path) => loadConfig({ path, cwd: folder })): string {
  try {
    read(put(text))
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key}: ${message}`).join('\n')
    throw error
  }
  throw new Error('expected a refusal')
}
for (const dir of ['one', 'two']) {
  mkdirSync(join(folder, dir))
  writeFileSync(join(folder, dir, `part-${dir}`), 'click:1\n')
}

describe('a config of PaddleRec', () => {
  test('may name several folders of training data', async () => {
    const { config } = load('runner:\n  train_data_dir: ["one", "two/"]\n  train_batch_size: 2\n')
    const files = await findDataFiles(config, ['train', 'infer'])
    expect(files.train?.map((file) => file.replace(`${folder}/`, ''))).toEqual(['one/part-one', 'two/part-two'])
    expect(refusal('runner:\n  train_data_dir: []\n  train_batch_size: 2\n')).toMatch(/a folder, or a list of folders/)
  })

  test('may have fs_name and fs_ugi beside the runner; those of the runner win', () => {
    const runner = 'runner:\n  train_data_dir: one\n  train_batch_size: 2\n'
    const { config } = load(`${runner}  fs_ugi: "me,here"\nfs_name: "hdfs://host:9870"\nfs_ugi: "me,there"\n`)
    expect(config.runner).toMatchObject({ fs_name: 'hdfs://host:9870', fs_ugi: 'me,here' })
  })

  test('may only evaluate, and says so when it is asked to train', async () => {
    const { config } = load('runner:\n  data_dir: two\n  batch_size: 10\n')
    expect(config.runner).toMatchObject({ test_data_dir: join(folder, 'two'), infer_batch_size: 10 })
    await expect(findDataFiles(config, ['train', 'infer'])).rejects.toThrow(/train_data_dir: missing.*only evaluate/)
    expect(Object.keys(await findDataFiles(config, ['infer']))).toEqual(['infer'])
    // Nothing to train on and nothing to evaluate is a mistake.
    expect(refusal('runner:\n  epochs: 2\n')).toMatch(/runner\.train_data_dir: missing/)
  })

  test('may say the batch size under another name, which is told', () => {
    const runner = 'runner:\n  train_data_dir: one\n'
    const { config, notices } = load(`${runner}hyper_parameters:\n  batch_size: 32\n`)
    expect(config.runner.train_batch_size).toBe(32)
    expect(notices).toContain('runner.train_batch_size is not written: hyper_parameters.batch_size (32) is taken')
    expect(load(`${runner}  batch_size: 4\n`).config.runner.train_batch_size).toBe(4)
    expect(refusal(runner)).toMatch(/runner\.train_batch_size: missing/)
  })

  test('of PGLBox is refused as what it is', () => {
    const text = 'job_name: x\netype2files: "a:b"\ngraph_data_local_path: "./data/"\nfs_name: ""\nfs_ugi: ""\n'
    expect(refusal(text)).toMatch(/a config of PGLBox/)
  })
})

const V1 = (runners: string, mode = 'train') => `workspace: "${folder}"
mode: ${mode}
dataset:
- {name: data, batch_size: 2, data_path: "{workspace}/one", sparse_slots: "click 1"}
runner:
${runners}
phase:
- {name: phase1, model: "{workspace}/model.py", dataset_name: data, thread_num: 1}
`

const SLOTS = Array.from({ length: 26 }, (_, i) => i + 1).join(' ')
const SHIPPED = `workspace: "paddlerec.models.rank.dnn"
mode: train
dataset:
- {name: data, batch_size: 2, data_path: "{workspace}/data/sample_data/train", sparse_slots: "click ${SLOTS}", dense_slots: "dense_var:13"}
runner:
- {name: train, class: train}
phase:
- {name: phase1, model: "{workspace}/model.py", dataset_name: data, thread_num: 1}
`

describe('a config of PaddleRec 1.x', () => {
  const idle = '- {name: train, class: train}\n- {name: infer_runner, trainer_class: infer, init_model_path: x}'

  test('may have a runner without class that mode does not select, which is told', () => {
    const { notices } = loadRunConfig({ path: put(V1(idle)), cwd: folder })
    expect(notices).toContain('runner infer_runner has no class; it is not selected by mode, so it does not run')
    const selected = V1(idle, 'infer_runner')
    expect(refusal(selected, (path) => loadRunConfig({ path, cwd: folder }))).toMatch(
      /runner\.infer_runner\.class: missing/,
    )
  })

  test('is checked by oarfish check: its model, or that there is none', async () => {
    const missing = await oarfish(['check', '-m', put(V1('- {name: train, class: train}'))], folder)
    expect(missing.code).toBe(2)
    expect(missing.err).toMatch(/phase1\.model: .*model\.ts/)
    const right = await oarfish(['check', '-m', put(SHIPPED)], folder)
    expect(right.err).toBe('')
    expect(right).toMatchObject({ code: 0, out: expect.stringMatching(/is valid\.\n$/) })
    const changed = await oarfish(['check', '-m', put(SHIPPED), '-o', 'runner.epochs=1'], folder)
    expect(changed.err).toMatch(/-o: .* is of the PaddleRec 1\.x form/)
  })
})
