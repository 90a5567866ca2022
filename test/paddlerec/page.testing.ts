/** @file What a walk through PaddleRec found, as docs/reference/paddlerec.md. */
import { spawnSync } from 'node:child_process'
import type { DraftResult, ModelResult, ReaderResult, YamlResult } from './walk.testing.ts'

export interface Walk {
  readonly checkout: string
  readonly results: readonly YamlResult[]
  readonly models: readonly ModelResult[]
  readonly drafts: readonly DraftResult[]
  readonly readers: readonly ReaderResult[]
}

export function pageOf({ checkout, results, models, drafts, readers }: Walk): string {
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

${readers.length} readers are named by these configs and have sample data in the checkout. ${same.length} of them run unmodified and give, sample by sample, what they give under paddlepaddle 2.6.2; the last
column says which packages they need: where numpy is not named, the stand-in for it is enough.

${table(
  ['reader', 'files', 'needs'],
  same.map(({ reader, outcome, needsNumpy, imports }) => [
    `\`${reader}\``,
    outcome.kind === 'same' && outcome.together ? 'all at once' : 'one at a time',
    [...(needsNumpy ? ['numpy'] : []), ...imports].join(', '),
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

## Drafts

What \`oarfish port\` makes of the nets of rank and multitask ([porting.md](../guide/porting.md)). Every one of these drafts type-checks. Lines that are not translated stand in it as comments, and
the draft stops there with the line when it is run. Folders without static_model.py have layers and optimizer translated; their inputs, forward and loss stand as comments.

${table(
  ['folder', 'drafted from net.py and', 'statements', 'not translated'],
  drafts.map(({ folder, from, statements, gaps }) => [`\`${folder}\``, `${from}`, String(statements), gapsOf(gaps)]),
)}
`
}

/** The reasons, each with how many lines it stands for. */
function gapsOf(gaps: DraftResult['gaps']): string {
  const reasons = new Map<string, number>()
  for (const { reason } of gaps) {
    const own = reason.split(': ')[0]!.replaceAll(/ is (something that was not translated|a \w+), not a number$/g, '')
    reasons.set(own, (reasons.get(own) ?? 0) + 1)
  }
  return [...reasons].map(([reason, count]) => (count > 1 ? `${reason} (${count} lines)` : reason)).join('; ')
}

/** What errors of Python come to. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/^\*{20,}$/, 'downloads a file of nltk when it is loaded, which was not to be had here'],
  [
    /pandas\.core\.indexes\.numeric/,
    'its data is a pickle of pandas before 2.0; a field is lists of different lengths in one another, which are no array',
  ],
]

function reasonOf(outcome: ReaderResult['outcome']): string {
  if (outcome.kind === 'same') return ''
  if (outcome.kind === 'differs') return outcome.at
  const known = KNOWN.find(([pattern]) => pattern.test(outcome.reason))
  if (known) return known[1]
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
