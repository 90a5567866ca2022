/** @file What a walk through PaddleRec found, as docs/reference/paddlerec.md. */
import { spawnSync } from 'node:child_process'
import type { ModelResult, ReaderResult, YamlResult } from './walk.testing.ts'

export interface Walk {
  readonly checkout: string
  readonly results: readonly YamlResult[]
  readonly models: readonly ModelResult[]
  readonly readers: readonly ReaderResult[]
}

export function pageOf({ checkout, results, models, readers }: Walk): string {
  const refused = results.filter((result) => result.refused !== undefined)
  const same = readers.filter(({ outcome }) => outcome.kind === 'same')
  const traced = models.filter(({ outcome }) => outcome.kind === 'traced')
  return `# PaddleRec's files: what loads, and what is refused

Written by a walk through ${commitOf(checkout)} on ${new Date().toISOString().slice(0, 10)}; \`OARFISH_PADDLEREC=DIR OARFISH_PADDLEREC_WRITE=1 npx vitest run test/paddlerec\` writes
it anew. \`OARFISH_PADDLE_PYTHON\` names a Python with paddlepaddle, whose samples are compared.

## Configs

${results.length - refused.length} of ${results.length} yaml files below models/ load. ${traced.length} of them are for models that ship with Oarfish and fit them; the others need a \`model.ts\` of your own
([writing-models.md](../guide/writing-models.md)).

${table(
  ['refused', 'why'],
  refused.map(({ file, refused: why }) => [`\`${file}\``, why!]),
)}

## Readers

${readers.length} readers are named by these configs and have sample data in the checkout. ${same.length} of them run unmodified and give, sample by sample, what they give under paddlepaddle; "numpy" says
that the stand-in for numpy is not enough for them.

${table(
  ['reader', 'files', ''],
  same.map(({ reader, outcome, needsNumpy }) => [
    `\`${reader}\``,
    outcome.kind === 'same' && outcome.together ? 'all at once' : 'one at a time',
    needsNumpy ? 'numpy' : '',
  ]),
)}

The others:

${table(
  ['reader', 'why'],
  readers.flatMap(({ reader, outcome }) => (outcome.kind === 'same' ? [] : [[`\`${reader}\``, reasonOf(outcome)]])),
)}

Under paddlepaddle readers of din and dien work because DataLoader stacks the samples of one batch, which the reader has padded to one length; samples of different length in a batch it refuses
("all input arrays must have the same shape"). A dense slot here has as many values in every sample, so the run stops with the slot's name. The id fields beside it may be of any length:
\`models/rank/din\` here takes those and needs no mask.
`
}

function reasonOf(outcome: ReaderResult['outcome']): string {
  if (outcome.kind === 'same') return ''
  if (outcome.kind === 'differs') return outcome.at
  const missing = /No module named '(\w+)'/.exec(outcome.reason)?.[1]
  return missing ? `needs the Python package ${missing}, which was not installed here` : outcome.reason
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n')

function commitOf(checkout: string): string {
  const { status, stdout } = spawnSync('git', ['-C', checkout, 'log', '-1', '--format=%h of %cs', '--', 'models'], {
    encoding: 'utf8',
  })
  return status === 0 && stdout.trim() ? `PaddleRec at ${stdout.trim()}` : 'the master branch of PaddleRec'
}
