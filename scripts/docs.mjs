/** @file Writes docs/reference/config.md, docs/reference/config-v1.md and docs/config.schema.json from the schema, docs/reference/port.md from the table of calls; `--check` only compares and fails when they are stale. */
import { createJiti } from 'jiti'
import { put } from './generated.mjs'

const jiti = createJiti(import.meta.url)
const { jsonSchema, SYNC_MODES } = await jiti.import('../src/base/config/index.ts')
const { RUNNER_GROUPS, userConfigSchema } = await jiti.import('../src/base/config/schema.ts')
const { GROUPS_V1 } = await jiti.import('../src/base/config/v1/schema.ts')
const { tableParameters } = await jiti.import('../src/base/config/table-parameters.ts')
const { describeSchema } = await jiti.import('../src/base/config/describe.ts')
const { yamlValue } = await jiti.import('../src/base/config/edit.ts')
const { bare, defaultOf, isOptional, keysOf, metaOf, schemaAt } = await jiti.import('../src/base/config/walk.ts')

const { SECTIONS } = await jiti.import('../src/paddle/port/index.ts')

const check = process.argv.includes('--check')
const stale = Object.entries({
  'reference/config.md': configPage(),
  'reference/config-v1.md': configV1Page(),
  'reference/port.md': portPage(),
  'config.schema.json': `${JSON.stringify(jsonSchema(), null, 2)}\n`,
}).filter(([name, text]) => !put(new URL(`../docs/${name}`, import.meta.url), text, check))
if (check && stale.length > 0) {
  console.error(`stale: ${stale.map(([name]) => `docs/${name}`).join(', ')}; run node scripts/docs.mjs`)
  process.exit(1)
}

function portPage() {
  const rows = (own) =>
    own.map(({ names, becomes, reason }) => [
      names.map(code).join('<br>'),
      reason ?? code(becomes).replaceAll('|', '\\|'),
    ])
  const sections = Object.entries(SECTIONS).map(
    ([title, own]) =>
      `## ${title}\n\n${table(['Paddle', title === 'Without a translation' ? 'why, and what to write' : 'becomes'], rows(own))}`,
  )
  return `<!-- Written by scripts/docs.mjs from src/paddle/port/calls; change it there. -->
# What oarfish port translates

Every call that [oarfish port](../guide/porting.md) knows. A call that is not here, or that is here with an argument that has no counterpart, stands
in the draft as its line of Python and throws when it is reached. \`Tensor.sum\` is the method of a tensor, \`object.add_sublayer\` that of a layer.

${sections.join('\n\n')}
`
}

function configPage() {
  return `<!-- Written by scripts/docs.mjs from src/base/config; change it there. -->
# config.yaml

\`oarfish train -m config.yaml\` reads PaddleRec 2.x configs as they are. A config has these groups:

${table(
  ['group', 'meaning'],
  keysOf(userConfigSchema).map((key) => [code(key), meaning(userConfigSchema.shape[key])]),
)}

Completion and checks in an editor: put this on the first line.
\`\`\`yaml
# yaml-language-server: $schema=node_modules/oarfish/docs/config.schema.json
\`\`\`

## How values are read

- Unknown keys are errors, except under \`hyper_parameters\` and \`runner.custom\`, which the model or the reader checks.
- \`True\`, \`true\`, \`yes\`, \`on\`, \`1\` and their opposites are booleans where a boolean is expected; a quoted number is a number where a number is expected; \`key:\` with nothing after it means its default.
- A repeated key is a notice; the last one counts.
- Data folders and readers are relative to the folder of the yaml, \`model_save_path\`, \`model_init_path\` and \`infer_load_path\` to the working folder. \`{workspace}\` in a value stands for \`workspace\`.
- \`-o runner.epochs=2\` replaces a value. It is read as yaml (\`-o hyper_parameters.fc_sizes=[64,32]\`), may contain \`=\`, and is checked as strictly as the file.
- \`-m paddlerec.models.rank.dnn\` is the config that ships with this package under \`models/rank/dnn\`; \`paddlerec.models.rank.dnn/config_bigdata.yaml\` another one beside it.
- \`sync_mode\` is one of ${SYNC_MODES.map(code).join(', ')}; PaddleRec's \`heter\` is not part of Oarfish.

All problems are printed at once, each with its place and its fix:
\`\`\`
config.yaml:42:14 runner.sync_mode: expected sync | async | half_async | geo | gpubox, got "asyn" - did you mean "async"?
   42 |   sync_mode: "asyn"
      |              ^^^^^^
  fix: replace line 42 with:
   42 |   sync_mode: "async"
\`\`\`
[errors.md](errors.md) has a section for each error code.

${RUNNER_GROUPS.map(({ title, intro, shape }) => `## \`runner\`: ${title}\n\n${intro}\n\n${options(shape)}`).join('\n\n')}

## \`table_parameters.<embedding>\`

Row layout, optimizer rule and storage of a parameter server's sparse table. Every key may be left out.

${options(tableParameters.shape)}

${nested(['accessor'])}
${nested(['accessor', 'embed_sgd_param'], '`embedx_sgd_param` has the same keys.')}
${['naive', 'adagrad', 'adam'].map((rule) => nested(['accessor', 'embed_sgd_param', rule])).join('\n')}
${nested(['accessor', 'ctr_accessor_param'], 'The value in brackets holds when the key is left out.')}
${nested(['accessor', 'table_accessor_save_param'])}`
}

function configV1Page() {
  return `<!-- Written by scripts/docs.mjs from src/base/config/v1; change it there. -->
# config.yaml of PaddleRec 1.x

\`\`\`
oarfish run -m config.yaml [-b backend.yaml]
\`\`\`
does what \`python -m paddlerec.run\` does: it runs the runners that \`mode\` names, one after the other. \`-m paddlerec.models.rank.dnn\` is the
config in that folder of this package. A config of the 2.x form, with one group \`runner\`, goes to \`oarfish train\`: [config.md](config.md).

\`\`\`yaml
workspace: "paddlerec.models.rank.dnn"
mode: [single_cpu_train]
runner:
- name: single_cpu_train
  class: train
  epochs: 4
  save_checkpoint_interval: 2
  save_checkpoint_path: "increment_dnn"
  phases: [phase1]
dataset:
- name: dataloader_train
  batch_size: 2
  data_path: "{workspace}/data/sample_data/train"
  sparse_slots: "click 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26"
  dense_slots: "dense_var:13"
phase:
- name: phase1
  model: "{workspace}/model.py"
  dataset_name: dataloader_train
\`\`\`
This leaves \`increment_dnn/1\` and \`increment_dnn/3\`. A runner of class \`infer\` with \`init_model_path: "increment_dnn"\` evaluates both.

## How it is read

- \`workspace\` that begins with \`paddlerec.\` is a folder of this package, any other is relative to the working folder, as are all paths. \`{workspace}\`
  stands for it in any text.
- \`mode\` is a name or several; \`phases\` too. Phases run in the order of \`phase\`.
- A key written twice is a warning with both lines; the last one counts. Keys that are not listed here belong to the model or the reader; one that
  looks like a slip of the pen is an error with the key that was meant.
- All problems are printed at once with place and fix, before anything runs: names that name nothing, missing folders and models.
- \`local_cluster_train\` trains with processes of this host, see below. \`cluster_train\` needs the backend.yaml of a cluster.
- \`device: gpu\` runs on the CPU, and says so.

${GROUPS_V1.map(({ title, intro, shape }) => `## ${code(title)}\n\n${intro}\n\n${options(shape)}`).join('\n\n')}

## Saving

After epoch e, counted from 0, a checkpoint goes to \`<save_checkpoint_path>/<e>\` when e is the last epoch or e + 1 is a multiple of the interval;
without an interval after every epoch. A runner with several phases saves each in a folder of its name below that. Checkpoints are those of
[checkpoint-format.md](checkpoint-format.md). \`infer\` takes the sub-folders of \`init_model_path\` in numeric order, or the folder itself where it has none.

## Several processes

\`class: local_cluster_train\` starts \`server_num\` parameter servers and \`worker_num\` workers on this host and waits for them.
\`distribute_strategy\` is when gradients travel: \`async\`, \`sync\`, \`half_async\` or \`geo\`, whose exchanges are
\`train.strategy.mode.push_num\` batches apart ([parameter-server.md](../guide/parameter-server.md) says what each means).
\`\`\`yaml
- name: local_cluster
  class: local_cluster_train
  worker_num: 2
  server_num: 1
  distribute_strategy: async
  epochs: 4
  save_checkpoint_path: "increment_dnn"
\`\`\`
Each process writes to \`logs/server.<i>\` or \`logs/worker.<i>\`; what worker 0 prints is shown. Each sample of the data is read by one worker. There are
no more workers than parts of the data (files, or MiB of plain text), and only the first phase runs. Worker 0 saves; \`init_model_path\` is loaded for
all. When a process fails the job ends with its exit status and its last lines, and later modes do not run.

A process of a job of \`cluster_train\` is the same command with \`PADDLE_PADDLEREC_ROLE=WORKER\` and the variables of
[launch.md](../guide/launch.md) in its environment.

## Slots

A line is \`slot:value slot:value ...\` in any order. A slot that a line does not have gets \`padding\`; a dense slot with too few values is an error with
its line. A model may declare other names of a dense slot: \`dense('dense_feature', 13, { aliases: ['dense_var'] })\`, as models/rank/dnn does, reads
13 real values of \`dense_feature\` where the config says \`dense_var\`.

Without slots, \`data_converter: reader.py\` stands for \`reader.ts\` beside it, which exports a class \`Reader\` (or \`reader_class_name\`):
\`\`\`ts
export class Reader {
  constructor(config) {} // config.runner.custom holds the dataset's own keys
  *generateSample(line) {
    yield [['click', [0]], ['1', [737395]], ['dense_var', [0.1, 0.2]]]
  }
}
\`\`\`

## The model

\`model.py\` stands for \`model.ts\` beside it, else \`static_model.ts\`. A file exports what a model of 2.x does (\`defineModel\`, or a class \`StaticModel\`), or a class \`Model\`:
\`\`\`ts
import { metric } from 'oarfish'
import { concat, mean, sigmoid } from 'oarfish/nn'
import * as nn from 'oarfish/nn'

export class Model {
  net({ label, sparse, dense }, isInfer) {
    const embedded = nn.embedding(Object.values(sparse), { name: 'SparseFeatFactors', dim: 9 })
    const logit = nn.linear(concat([embedded, dense.dense_var], 1), { name: 'fc', out: 1 })
    return { loss: mean(nn.sigmoidCrossEntropy(logit, label)), metrics: { AUC: metric.aucReport(sigmoid(logit), label) } }
  }
}
\`\`\`
Its inputs are the slots of the dataset, the first sparse slot being the label, unless it has \`inputData(feeds, isInfer)\`; its optimizer is that of
\`hyper_parameters.optimizer\` (\`class\`: SGD, Adam or Adagrad; \`learning_rate\`), unless it has \`optimizer()\`.

## Metrics and output

\`metric.aucReport(prediction, label)\`, \`metric.precisionRecall(input, label, classNum)\`, \`metric.recallK(input, label, k)\` and
\`metric.posNegRatio(positive, negative)\` end an epoch with the lines of PaddleRec's AUC, PrecisionRecall, RecallK and PosNegRatio. Progress goes to
standard error every \`print_interval\` batches, what ends an epoch to standard output; \`--json\` prints events instead. A progress line shows
every metric so far and, for an AUC, \`BATCH_AUC\`: over the batches since the line before (in PaddleRec's models over the last 20).

## Otherwise than PaddleRec 1.8.5

- Metrics begin anew in each epoch; PaddleRec's go on over all of them.
- A bare \`phases: phase10\` is that phase alone, not \`phase1\` as well.
- Several phases do not write over each other's checkpoints, nor several evaluated models over each other's \`runner_result_dump_path\`.
- Empty \`save_inference_feed_varnames\` or \`save_inference_fetch_varnames\` stand for all inputs or outputs; in PaddleRec nothing is saved then.
- Workers of a local cluster share large files by the byte, so that one file may feed several; PaddleRec deals out whole files. Several
  \`selected_gpus\` do not turn a runner into a local cluster.
- Blank lines are no samples. A failure ends with a status that is not 0. \`device\` may be left out.
`
}

function nested(path, note = '') {
  const { shape } = bare(schemaAt(tableParameters, path))
  return `### ${code(path.join('.'))}\n\n${note && `${note}\n\n`}${options(shape)}\n`
}

function options(shape) {
  const plain = Object.values(shape).every((schema) => isFree(schema))
  if (plain)
    return table(
      ['key', 'meaning'],
      Object.entries(shape).map(([key, schema]) => [code(key), meaning(schema)]),
    )
  const rows = Object.entries(shape).map(([key, schema]) => [
    code(key),
    isFree(schema) ? 'any value' : describeSchema(schema),
    fallback(schema),
    meaning(schema),
  ])
  return table(['key', 'value', 'default', 'meaning'], rows)
}

function isFree(schema) {
  return bare(schema).def.type === 'unknown'
}

function code(text) {
  return `\`${text}\``
}

function meaning(schema) {
  return metaOf(schema).description ?? ''
}

function fallback(schema) {
  if (!isOptional(schema)) return 'required'
  const value = defaultOf(schema)
  return value === undefined ? '-' : code(yamlValue(value, true))
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
