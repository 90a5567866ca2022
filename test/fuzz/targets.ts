/**
 * @file What is given damaged input: every reader of something that others wrote. A target may refuse an input with a UserError, or with an error
 * that it expects; anything else it throws, a case that takes a second, and memory that grows are findings.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { loadConfig, parseBackend, parseRunConfig } from '../../src/base/config/index.ts'
import { checkedConfig } from '../../src/base/config/load.ts'
import { sourceOf } from '../../src/base/config/open-source.ts'
import type { ConfigSource } from '../../src/base/config/source.ts'
import { checkedBackend } from '../../src/base/config/v1/backend.ts'
import { checkedRunConfig } from '../../src/base/config/v1/load.ts'
import { encodeHead, FrameReader } from '../../src/base/net/frame.ts'
import { packageFile } from '../../src/base/util/index.ts'
import { createTextBlockParser, type Slot } from '../../src/data/index.ts'
import { createTableSources } from '../../src/data/tables/table-source.ts'
import { openExport } from '../../src/inference/export/index.ts'
import { createRequestParser } from '../../src/inference/serve/request.ts'
import { translateLine } from '../../src/jobs/launch/translate.ts'
import { parseClusterConf } from '../../src/jobs/ssh/index.ts'
import { openSnapshot } from '../../src/weights/snapshot/index.ts'
import { hexOf } from '../../src/weights/snapshot/manifest.ts'
import { GATHERED_TARGETS } from './gathered-target.ts'
import { JOB_SERVER_TARGETS } from './job-server-target.ts'
import { MESSAGE_TARGETS } from './message-targets.ts'
import { temporary } from './temporary.ts'

export interface Target {
  /** Words that the format gives a meaning to. */
  readonly words?: readonly string[]
  /** So much of an input is read in most cases, and all of it in each that is run whole. */
  readonly most?: number
  /** So many cases are under way at once, each with a work of its own: of one alone most of the time is waiting for files. */
  readonly lanes?: number
  /** Errors besides UserError that say what is wrong. */
  readonly expected?: (error: Error) => boolean
  /** What a process needs once. The first of the corpus is valid. */
  readonly open: () => Work | Promise<Work>
}

export interface Work {
  readonly corpus: readonly Uint8Array[]
  /** `whole` with all that follows, where most of a case's time would go to one part of it: one of 32 cases, and those that were kept. */
  run(input: Buffer<ArrayBuffer>, whole: boolean): void | Promise<void>
}

const bytes = (text: string) => Buffer.from(text)
const inPackage = (...path: readonly string[]) => readFileSync(packageFile(join(...path)))
/** What release 0.1 wrote. */
const RELEASE = 'test/fixtures/releases/0.1.0'

/** A divisor of how often a target says how far it is. */
const LANES = 10

const SLOTS: readonly Slot[] = [
  { kind: 'dense', name: 'click', width: 1, dtype: 'int64' },
  { kind: 'sparse', name: '1' },
  { kind: 'sparse', name: '2' },
  { kind: 'dense', name: 'dense_feature', width: 3, dtype: 'float32' },
]

const YAML_WORDS = [
  '&a ',
  '*a',
  '<<: *a',
  '? ',
  '- ',
  '{',
  '}',
  '[[',
  ': ',
  '\n  ',
  '|\n',
  '>-\n',
  '!!binary ',
  '---\n',
  '...\n',
  '#',
]

/** A few of the inputs repeat a piece of them hundreds of times, and took as long as all others together. */
const SHORT_YAML = 400
const PIECE_LINES = 3
const PIECES_OF_WHOLE = 15

/**
 * One of sixteen cases begins with the whole text, the others with a section of it, short by a few lines: a case costs what its text is long, and
 * damage of a short one is as likely to be new.
 */
function yamlCorpus(text: string, ...more: readonly Uint8Array[]): readonly Uint8Array[] {
  const sections = text.split(/^(?=\w)/m).map((section) => section.trimEnd().split('\n'))
  const pieces = sections.flatMap(([head = '', ...lines]) =>
    Array.from({ length: Math.max(1, Math.ceil(lines.length / PIECE_LINES)) }, (_, i) =>
      bytes([head, ...lines.slice(i * PIECE_LINES, (i + 1) * PIECE_LINES), ''].join('\n')),
    ),
  )
  const whole = [bytes(text), ...more]
  const times = Math.ceil((PIECES_OF_WHOLE * whole.length) / pieces.length)
  return [...whole, ...Array(times).fill(pieces).flat()]
}

const BACKEND = `backend: "PaddleCloud"
cluster_type: k8s
config:
  fs_name: "hdfs://fs.example:9000"
  fs_ugi: "user,secret"
  output_path: "/user/out"
  train_data_path: "/user/train"
submit:
  ak: "key"
  sk: "secret"
  priority: "high"
  job_name: "a_job"
  start_cmd: "python -m paddlerec.run -m ./config.yaml"
  files: ./*.py ./*.yaml
  k8s_trainers: 2
  k8s_memory: 4Gi
`

/** Short, so that a case takes a millisecond: what is long in a shipped file is comments. */
const CONFIG = `runner:
  train_data_dir: "data/train"
  train_reader_path: "reader"
  use_gpu: False
  train_batch_size: 32
  epochs: 3
  print_interval: 10
  model_save_path: "output"
hyper_parameters:
  optimizer: { class: Adam, learning_rate: 1e-3 }
  sparse_feature_dim: 9
  fc_sizes: [512, 256]
`

const RUN_CONFIG = `workspace: "."
mode: [train_runner]
hyper_parameters:
  optimizer: { class: Adam, learning_rate: 0.001 }
  sparse_feature_dim: 9
dataset:
- name: sample
  type: DataLoader
  batch_size: 5
  data_path: "{workspace}/data"
  sparse_slots: "click 1 2"
  dense_slots: "dense_var:13"
runner:
- name: train_runner
  class: train
  epochs: 2
  device: cpu
  phases: [phase1]
phase:
- name: phase1
  model: "{workspace}/model.py"
  dataset_name: sample
  thread_num: 1
`

const INSTANCES = {
  instances: [{ click: [1], '1': [12, 13], '2': ['18446744073709551615'], dense_feature: [0.5, 1, 2] }],
}

export const TARGETS: Readonly<Record<string, Target>> = {
  ...MESSAGE_TARGETS,
  ...GATHERED_TARGETS,
  frame: {
    expected: ({ message }) => /not a frame|over the limit|arrived damaged/.test(message),
    open: () => ({
      corpus: [frames('pull'), frames('x'.repeat(300)), frames('')],
      run: (input) => {
        // In two pieces, as sockets give them.
        const reader = new FrameReader(64 * 1024, () => undefined)
        reader.push(input.subarray(0, input.length >> 1))
        reader.push(input.subarray(input.length >> 1))
      },
    }),
  },
  yaml: { words: YAML_WORDS, most: SHORT_YAML, open: configTarget },
  'config-v1': {
    words: YAML_WORDS,
    most: SHORT_YAML,
    open: () => ({
      corpus: yamlCorpus(RUN_CONFIG),
      run: (input, whole) => {
        const [cwd, text] = [tmpdir(), input.toString()]
        const place = { absolute: join(cwd, 'config.yaml'), cwd }
        if (whole) parseRunConfig({ file: 'config.yaml', text, ...place })
        else ifYaml(text, (source) => checkedRunConfig(source, place))
      },
    }),
  },
  backend: {
    words: YAML_WORDS,
    most: SHORT_YAML,
    open: () => ({
      corpus: yamlCorpus(BACKEND),
      run: (input, whole) => {
        const text = input.toString()
        if (whole) parseBackend('backend.yaml', text)
        else ifYaml(text, checkedBackend)
      },
    }),
  },
  slot: {
    words: ['click:1', '1:5', 'dense_feature:0.1', ' 2:'],
    open: () => textTarget('slot', 'click:1 1:5 1:6 2:7 dense_feature:0.1 dense_feature:0.2 dense_feature:3\n'),
  },
  multislot: {
    words: ['1 5 ', '2 5 6 ', '18446744073709551615'],
    open: () => textTarget('multislot', '1 1 2 5 6 1 7 3 0.1 0.2 3\n1 0 1 5 1 7 3 0.1 1e-3 3\n'),
  },
  csv: { words: ['click,1', '"', '""', '|', ',,,'], lanes: LANES, open: csvTarget },
  manifest: { words: ['"tables":', '"files":', 'null', '{}', '[]'], lanes: LANES, open: checkpointTarget },
  export: {
    words: ['"tables":', '"inputs":', 'null', '{}', '[]'],
    lanes: LANES,
    open: () => exportTarget('manifest.json'),
  },
  'export-table': { lanes: LANES, open: () => exportTarget('table-0.bin') },
  instances: {
    words: ['"instances"', '"click"', '[', '{', '1e400'],
    open: () => {
      const parse = createRequestParser(
        SLOTS.map((slot) => ({ ...slot, needed: true })),
        true,
      )
      const run = (kind: 'json' | 'text') => (body: Uint8Array<ArrayBuffer>) => void parse({ kind, body } as never)
      const [json, text] = [run('json'), run('text')]
      const corpus = [bytes(JSON.stringify(INSTANCES)), bytes('click:1 1:5 2:7 dense_feature:1\n')]
      return { corpus, run: (input) => (input[0] === 123 || input[0] === 91 ? json : text)(input) }
    },
  },
  ...JOB_SERVER_TARGETS,
  'conf.py': {
    words: ['HOSTS = [', ']', '"""', "'", '\\', '# ', 'PADDLE_PORT = ', '+', '%', 'u"', '\n    '],
    open: () => ({
      corpus: [inPackage('deploy', 'cluster_train', 'conf.py')],
      run: (input) => void parseClusterConf('conf.py', input.toString()),
    }),
  },
  command: {
    words: ['python ', 'python -u -m ', 'cd a && ', 'A=1 ', '"', '$(', '`', '; '],
    open: () => ({
      corpus: [
        'cd models && A=1 python -m paddle.distributed.launch --gpus 0 tools/trainer.py -m config.yaml',
        'python -u ../../../tools/static_trainer.py -m config.yaml',
        'sh run.sh',
      ].map(bytes),
      run: (input) => void translateLine(input.toString(), (path) => path.length % 2 === 0),
    }),
  },
}

function frames(text: string): Buffer<ArrayBuffer> {
  const part = bytes(text)
  return Buffer.concat([1, 2].flatMap((id) => [encodeHead({ type: 'request', method: 3, id }, [part]), part]))
}

/** Guesses at what would mend such a text read it a dozen times over: of most it is enough that the parser refuses them. */
function ifYaml(text: string, work: (source: ConfigSource) => unknown): void {
  const source = sourceOf('config.yaml', text.replace(/^\uFEFF/, ''))
  if (source.document.errors.length === 0) work(source)
}

function configTarget(): Work {
  const file = join(temporary(), 'config.yaml')
  const place = { absolute: file, cwd: process.cwd(), problems: [] }
  return {
    corpus: yamlCorpus(CONFIG, inPackage('models', 'rank', 'dnn', 'config.yaml')),
    run: (input, whole) => {
      if (!whole) return ifYaml(input.toString(), (source) => checkedConfig(source, place))
      writeFileSync(file, input)
      loadConfig({ path: file })
    },
  }
}

function textTarget(format: 'slot' | 'multislot', text: string): Work {
  const parse = createTextBlockParser(SLOTS)
  return {
    corpus: [bytes(text), bytes(text.repeat(20))],
    run: (input) => void parse({ text: input, format, file: 'part-0' }),
  }
}

function csvTarget(): Work {
  const file = join(temporary(), 'part-0.csv')
  const columns = { columns: { '1': { from: 'a', split: '|' }, '2': { from: ['b'] }, dense_feature: ['x', 'y', 'z'] } }
  const sources = createTableSources({ slots: SLOTS, columns })
  const line = '1,5|6,"7",0.1,0.2,3\n'
  return {
    corpus: [bytes(`click,a,b,x,y,z\n${line}`), bytes(`click,a,b,x,y,z\n${line.repeat(20)}`)],
    run: async (input) => {
      writeFileSync(file, input)
      const chunk = { number: 0, place: 0, kind: 'csv', file, from: 0, to: input.length } as const
      for await (const _ of sources.csv(chunk));
    },
  }
}

/** manifest.json of a checkpoint; every other one with the checksum that its content has, or nothing behind it would ever be reached. */
function checkpointTarget(): Work {
  const folder = join(temporary(), 'checkpoint')
  cpSync(packageFile(`${RELEASE}/checkpoints/alone`), folder, { recursive: true })
  const file = join(folder, 'manifest.json')
  return {
    corpus: [readFileSync(file)],
    run: async (input) => {
      writeFileSync(file, input.length % 2 === 0 ? input : withChecksum(input))
      await openSnapshot(folder, '--resume')
    },
  }
}

function withChecksum(input: Buffer): string | Buffer {
  try {
    const { crc32: _, ...content } = JSON.parse(input.toString()) as Record<string, unknown>
    return JSON.stringify({ ...content, crc32: hexOf(crc32(JSON.stringify(content))) })
  } catch {
    return input
  }
}

/** One file of an export is damaged; if it is not the manifest, that says the damaged file's size and checksum. */
function exportTarget(name: string): Work {
  const folder = join(temporary(), 'export')
  cpSync(packageFile(`${RELEASE}/export`), folder, { recursive: true })
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
    readonly files: Record<string, { bytes: number; crc32: string }>
  }
  return {
    corpus: [readFileSync(join(folder, name))],
    run: async (input) => {
      writeFileSync(join(folder, name), input)
      if (name !== 'manifest.json') {
        manifest.files[name] = { bytes: input.length, crc32: hexOf(crc32(input)) }
        writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
      }
      await openExport(folder)
    },
  }
}
