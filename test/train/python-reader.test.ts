/** @file A model trained with a reader in Python, by the command a user types. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { oarfish } from '../oarfish.testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-python-train-'))
afterAll(() => rmSync(folder, { recursive: true }))
const shipped = (path: string) => fileURLToPath(new URL(`../../models/${path}`, import.meta.url))

const READER = `from __future__ import print_function
import numpy as np
from paddle.io import IterableDataset

SLOTS = ["click"] + [str(slot) for slot in range(1, 27)]


class RecDataset(IterableDataset):
    def __init__(self, file_list, config):
        super(RecDataset, self).__init__()
        self.file_list = file_list

    def __iter__(self):
        for file in self.file_list:
            with open(file) as lines:
                for line in lines:
                    found = {name: [] for name in SLOTS}
                    dense = []
                    for word in line.split():
                        name, value = word.split(":")
                        if name == "dense_feature":
                            dense.append(np.log(float(value) + 1))
                        elif name in found:
                            found[name].append(int(value))
                    output = [np.array(found[name] or [0]).astype("int64") for name in SLOTS]
                    output.append(np.array(dense).astype("float32"))
                    yield output
`

/** A folder with the CTR DNN, its sample cut into three files, and a config. */
function modelFolder(name: string, change: (line: string) => string = (line) => line): string {
  const dir = join(folder, name)
  mkdirSync(join(dir, 'train'), { recursive: true })
  cpSync(shipped('rank/dnn/model.ts'), join(dir, 'model.ts'))
  const sample = shipped('rank/dnn/data/sample_data/train')
  const lines = readdirSync(sample)
    .filter((file) => !file.startsWith('.'))
    .sort()
    .flatMap((file) => readFileSync(join(sample, file), 'utf8').trimEnd().split('\n'))
    .slice(0, 120)
  for (const part of [0, 1, 2])
    writeFileSync(
      join(dir, 'train', `part-${part}`),
      `${lines
        .slice(part * 40, (part + 1) * 40)
        .map(change)
        .join('\n')}\n`,
    )
  writeFileSync(
    join(dir, 'config.yaml'),
    `runner:
  train_data_dir: train
  train_reader_path: "criteo_reader" # importlib format
  train_batch_size: 16
  epochs: 2
  print_interval: 1
  model_save_path: output
hyper_parameters:
  fc_sizes: [16, 8]
`,
  )
  return dir
}

const losses = (out: string) => out.split('\n').flatMap((line) => /"loss":([-\d.e]+)/.exec(line)?.[1] ?? [])
const train = async (dir: string, ...more: readonly string[]) => {
  const done = await oarfish(['train', '-m', 'config.yaml', '--json', ...more], dir)
  expect(done.err).toBe('')
  return done
}

describe('train_reader_path: a reader in Python', () => {
  test('runs in place of the built-in reader, which would leave out what it computes', async () => {
    const own = modelFolder('own')
    writeFileSync(join(own, 'criteo_reader.py'), READER)
    // The same numbers as text for the built-in reader.
    const logs = modelFolder('logs', (line) =>
      line.replaceAll(
        /dense_feature:(\S+)/g,
        (_, value) => `dense_feature:${Math.fround(Math.log(Number(value) + 1))}`,
      ),
    )
    const plain = modelFolder('plain')
    const [byPython, byText, withoutLog] = [await train(own), await train(logs), await train(plain)]
    expect(losses(byPython.out).length).toBeGreaterThan(8)
    expect(losses(byPython.out)).toEqual(losses(byText.out))
    expect(losses(byPython.out)).not.toEqual(losses(withoutLog.out))
    expect(losses((await train(own, '-o', 'runner.reader_threads=3')).out)).toEqual(losses(byPython.out))
  })

  test('that gives too few fields is refused, not filled up', async () => {
    const dir = modelFolder('few')
    writeFileSync(join(dir, 'criteo_reader.py'), READER.replace('yield output', 'yield output[1:]'))
    const { code, err, out } = await oarfish(['train', '-m', 'config.yaml'], dir)
    expect(code).toBe(2)
    expect(err + out).toMatch(/a sample has 27 fields, the model has 28 slots: "click", "1", "2"/)
  })

  test('without Python on the machine is refused with what to do', async () => {
    const dir = modelFolder('none')
    writeFileSync(join(dir, 'criteo_reader.py'), READER)
    const empty = join(folder, 'empty-path')
    mkdirSync(empty)
    for (const name of ['mkfifo', 'sh']) cpSync(`/bin/${name}`, join(empty, name), { dereference: true })
    const { code, err } = await oarfish(['train', '-m', 'config.yaml'], dir, undefined, { PATH: empty })
    expect(code).toBe(2)
    expect(err).toMatch(/written in Python, and there is no python3[\s\S]*criteo_reader\.ts/)
  })

  test('divides its files among ranks itself if it asks for its rank', async () => {
    const dir = modelFolder('ranks')
    const asks = READER.replace('import numpy as np', 'import numpy as np\nimport paddle').replace(
      'self.file_list = file_list',
      `self.file_list = file_list
        if config.get("runner.use_fleet", False):
            if len(file_list) < paddle.distributed.get_world_size():
                raise ValueError("The number of data files is less than the number of workers")
            self.file_list = file_list[paddle.distributed.get_rank()::paddle.distributed.get_world_size()]`,
    )
    writeFileSync(join(dir, 'criteo_reader.py'), asks)
    const args = ['launch', '--nproc_per_node', '2', 'tools/static_trainer.py', '-m', 'config.yaml', '-o']
    const { code, out, err } = await oarfish([...args, 'runner.use_fleet=True', 'runner.epochs=1'], dir)
    expect(err).toBe('')
    expect(code).toBe(0)
    const log =
      out +
      readdirSync(join(dir, 'log'))
        .map((file) => readFileSync(join(dir, 'log', file), 'utf8'))
        .join('\n')
    expect(log).toMatch(/The reader asks for its rank: it is given all 3 files and divides them itself/)
    expect(log).toMatch(/2 ranks have read 120 samples, as many as the files have lines/)
  })
})

test('logistic_regression reads pairs of feat_idx and feat_value, as PaddleRec’s config and data have them', async () => {
  const dir = join(folder, 'lr')
  mkdirSync(join(dir, 'train'), { recursive: true })
  cpSync(shipped('rank/logistic_regression/model.ts'), join(dir, 'model.ts'))
  // Clicks where feature 7 stands at its first field with a value above zero.
  const line = (i: number) => {
    const ids = Array.from({ length: 39 }, (_, field) =>
      field === 0 ? (i % 2 ? 7 : 8) : (i * 31 + field) % 50 === 0 ? 0 : 100 + field,
    )
    const values = ids.map((id, field) => (id === 0 ? 0 : field === 0 ? 1 : 0.01))
    return [
      ...ids.map((id) => `feat_idx:${id}`),
      ...values.map((value) => `feat_value:${value}`),
      `label:${i % 2}`,
    ].join(' ')
  }
  writeFileSync(join(dir, 'train', 'part-0'), `${Array.from({ length: 400 }, (_, i) => line(i)).join('\n')}\n`)
  writeFileSync(
    join(dir, 'config.yaml'),
    `runner:
  train_data_dir: train
  train_batch_size: 20
  epochs: 4
  print_interval: 1
  use_auc: True
  model_save_path: output
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.05}
  sparse_feature_number: 1086460
  num_field: 39
  reg: 0.001
`,
  )
  const found = losses((await train(dir)).out).map(Number)
  expect(found.at(-1)!).toBeLessThan(found[0]! / 2)
  expect((await oarfish(['check', '-m', 'config.yaml'], dir)).out).toMatch(/is valid/)
})
