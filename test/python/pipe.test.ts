/** @file Readers in Python, written for PaddleRec, run with the stand-ins of python/ and with real packages before them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { formatUserError, type UserError } from '../../src/base/util/index.ts'
import { tinyFolder, trainTiny } from '../train/tiny.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const hasPython = spawnSync('python3', ['--version']).status === 0
/** Runs Python with the stand-ins as pipe_command has them. */
const python = (code: string, env: Record<string, string> = {}) =>
  execFileSync('python3', ['-c', code], {
    env: { PATH: process.env['PATH'], PYTHONPATH: at('python'), ...env },
    encoding: 'utf8',
  }).trim()

describe.skipIf(!hasPython)('python-pipe', () => {
  let folder: string
  const queue = (command: string) => ['runner.reader_type=QueueDataset', `runner.pipe_command=${command}`]
  const trained = (...overrides: string[]) => trainTiny(folder, ['runner.model_save_path=', ...overrides])
  beforeAll(async () => {
    folder = await tinyFolder()
    copyFileSync(at('test/fixtures/python-reader/reader.py'), join(folder, 'reader.py'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('a reader like those of PaddleRec trains the model that slot text trains', async () => {
    const [text, piped] = [await trained(), await trained(...queue('python3 reader.py'))]
    expect(piped.result.digest).toBe(text.result.digest)
    expect(piped.result.evaluation).toEqual(text.result.evaluation)
  })

  test('a reader that fails is told with its command, status, file and traceback', async () => {
    const bad = join(folder, 'bad')
    mkdirSync(bad, { recursive: true })
    writeFileSync(join(bad, 'part-0'), 'click:0 user:1 boom:1\n')
    const error = await trained(...queue('python3 reader.py'), `runner.train_data_dir=${bad}`).catch((thrown) => thrown)
    const said = formatUserError(error as UserError)
    expect(said).toMatch(/bad\/part-0 runner\.pipe_command failed: it ended with exit status 1\./)
    expect(said).toMatch(/python3 reader\.py \S*config\.yaml \S*python < \S*bad\/part-0/)
    expect(said).toMatch(/KeyError: 'boom'/)
  })

  describe('a real package', () => {
    const base = mkdtempSync(join(tmpdir(), 'oarfish-site-'))
    afterAll(() => rmSync(base, { recursive: true }))
    const which = 'import paddle; print(paddle.__file__)'
    test('wins where it is installed, though installed packages come behind PYTHONPATH', () => {
      const env = { PYTHONUSERBASE: base }
      expect(python(which, env)).toBe(at('python/paddle/__init__.py'))
      const site = python('import site; print(site.getusersitepackages())', env)
      mkdirSync(join(site, 'paddle'), { recursive: true })
      appendFileSync(join(site, 'paddle', '__init__.py'), '')
      expect(python(which, env)).toBe(join(site, 'paddle', '__init__.py'))
    })
    test('wins where PYTHONPATH names it', () => {
      const own = join(base, 'own')
      mkdirSync(join(own, 'paddle'), { recursive: true })
      appendFileSync(join(own, 'paddle', '__init__.py'), '')
      expect(python(which, { PYTHONPATH: `${own}:${at('python')}` })).toBe(join(own, 'paddle', '__init__.py'))
    })
  })

  test('the generators have their place of Paddle 1 too, and check what they are given', () => {
    const code = (sample: string) => `
import paddle.fluid.incubate.data_generator as dg, paddle.distributed.fleet as fleet
assert dg.MultiSlotDataGenerator is fleet.MultiSlotDataGenerator
class G(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def it():
            yield zip(["label", "s"], [[1], [2, 3.5]])
            yield None
            yield ${sample}
        return it
try:
    G().run_from_memory()
except ValueError as error:
    print(error)`
    expect(python(code('[("label", [0]), ("s", [4])]'))).toBe('1 1 2 2 3.5\n1 0 1 4')
    const says = (sample: string) => python(code(sample))
    expect(says('{"label": [0]}')).toMatch('the output of process() must be in list or tuple type')
    expect(says('[("label", []), ("s", [4])]')).toMatch('the elements of each field can not be empty')
    expect(says('[("label", [0])]')).toMatch('the complete field set of two given line are inconsistent.')
    expect(says('[("label", [0]), ("t", [4])]')).toMatch('are not match: require<s>, get<t>.')
    expect(says('[("label", [0]), ("s", ["4"])]')).toMatch("element<class 'str'> must be in int or float")
  })

  test('what the stand-ins do not have says so', () => {
    const code = 'import paddle\ntry:\n    paddle.vision\nexcept ImportError as error:\n    print(error)'
    expect(python(code)).toMatch(/^paddle\.vision is not among Oarfish's stand-ins .* pip install paddlepaddle$/)
  })

  test('the small packages give the values of the real ones', () => {
    const first = `import sys; sys.path.insert(0, ${JSON.stringify(at('python'))});`
    const digests = python(
      `${first} import xxhash; print(*[xxhash.xxh32(t).hexdigest() for t in ("", "a", "abc", "Nobody inspects the spammish repetition")])`,
    )
    expect(digests).toBe('02cc5d05 550d7456 32d153ff e2293b2f')
    for (const config of ['models/rank/dnn/config.yaml', 'models/rank/dnn/config_bigdata.yaml']) {
      const code = `${first} import json, yaml; print(json.dumps(yaml.safe_load(open(${JSON.stringify(at(config))}))))`
      expect(JSON.parse(python(code))).toEqual(parse(readFileSync(at(config), 'utf8')))
    }
    const flow = 'a: {class: Adam, lr: 0.001, e: {}}\nb: [1, [2, 3], "x, y"]\nc:\n- {name: n, t: "p: q, r"}\n'
    const code = `${first} import json, yaml; print(json.dumps(yaml.safe_load(${JSON.stringify(flow)})))`
    expect(JSON.parse(python(code))).toEqual(parse(flow))
    expect(python('import common_ps; print(common_ps.__file__)')).toBe(at('python/common_ps.py'))
  })
})
