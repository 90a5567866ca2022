/** @file The keys that PaddleRec's document adds to config.yaml for parameter servers, as they stand there: a reader in Python, by a pipe. */
import { spawnSync } from 'node:child_process'
import { copyFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alive, eventsOf, ofKind, removeLeft, run } from './launch.testing.ts'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const hasPython = ['python', 'python3'].some((python) => spawnSync(python, ['--version']).status === 0)

const BLOCK = `    sync_mode: "async" # 可选, string: sync/async/geo
    geo_step: 400 # 可选, int, 在geo模式下控制本地的迭代次数
    split_file_list: False # 可选, bool, 若每个节点上都拥有全量数据，则需设置为True 
    thread_num: 1 # 多线程配置

    # reader类型，分布式下推荐QueueDataset
    reader_type: "QueueDataset" # DataLoader / QueueDataset / RecDataset
    pipe_command: "python benchmark_reader.py" # QueueDataset 模式下的数据pipe命令
    dataset_debug: False # QueueDataset 模式下 Profiler开关
`

describe.skipIf(!hasPython)('fleetrun with a Python reader', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oarfish-seed-'))
    const model = join(folder, 'dnn')
    await cp(file('../../models/rank/dnn'), model, { recursive: true })
    await copyFile(file('../fixtures/python-reader/benchmark_reader.py'), join(model, 'benchmark_reader.py'))
    const yaml = await readFile(join(model, 'config.yaml'), 'utf8')
    const [before, after] = yaml.split(/ {2}# parameter server\n(?: .*\n)+/)
    await writeFile(join(model, 'config.yaml'), before!.replace(/^ {2}/gm, '    ') + BLOCK + after)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('trains with the seven keys of the document, run from /', async () => {
    const args = [
      ...['--json', '--log_dir', join(folder, 'log'), '--worker_num=1', '--server_num=1'],
      ...['tools/static_ps_trainer.py', '-m', join(folder, 'dnn', 'config.yaml')],
      ...['-o', `runner.model_save_path=${join(folder, 'out')}`, 'runner.epochs=1'],
    ]
    const { code, out, mark } = await run('fleetrun', args, { cwd: '/' })
    expect([code, alive(mark)], out.slice(-3000)).toEqual([0, []])
    const lines = ofKind(eventsOf({ out }), 'output').map(({ line }) => line)
    expect(lines.some((line) => /epoch: 0 done, .*auc: 0\.\d+/.test(line))).toBe(true)
    expect(lines.some((line) => /Run Success, Exit\./.test(line))).toBe(true)
    removeLeft('/')
  })
})
