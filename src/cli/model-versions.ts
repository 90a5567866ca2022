/** @file `oarfish model log` and `oarfish model verify`: what online training has published, and whether it can be trusted. */
import { Command } from 'commander'
import { paceOn } from '../base/event/index.ts'
import { sizeText, UserError } from '../base/util/index.ts'
import type { DenseWeights, Version, VersionProblem } from '../inference/versions/index.ts'
import type { CliIo } from './io.ts'

interface Options {
  readonly json?: boolean
}

export function modelLogCommand(io: CliIo): Command {
  return new Command('log')
    .description(
      'List what online training has published in a folder (or at hdfs://, s3://): when, how large, what it changed; gaps.',
    )
    .argument('<folder>', 'runner.model_save_path of the training')
    .option('--json', 'print one JSON line for each version')
    .action((folder: string, options: Options) => printLog(folder, options, io))
}

export function modelVerifyCommand(io: CliIo): Command {
  return new Command('verify')
    .description(
      "Check every file of what was published, replay base and deltas, and compare them with the trainer's checkpoints.",
    )
    .argument('<folder>', 'runner.model_save_path of the training')
    .option('--json', 'print one JSON line')
    .action((folder: string, options: Options) => verify(folder, options, io))
}

async function printLog(folder: string, { json }: Options, io: CliIo): Promise<void> {
  const { logProblems, openVersions, versionName } = await import('../inference/versions/index.ts')
  const source = openVersions(folder)
  const versions = await source.versions()
  const problems = logProblems(versions)
  const dense = await source.dense()
  if (json) {
    for (const version of versions) io.out.write(`${JSON.stringify(version)}\n`)
    if (dense) io.out.write(`${JSON.stringify({ kind: 'dense', ...dense })}\n`)
    for (const problem of problems) io.out.write(`${JSON.stringify({ kind: 'problem', problem })}\n`)
    return
  }
  const rows = versions.map((version) => rowOf(version, versionName(version)))
  for (const line of columns([HEAD, ...rows])) io.out.write(`${line}\n`)
  if (dense) io.out.write(`${denseText(dense)}\n`)
  for (const problem of problems) io.out.write(`${problemText(problem)}\n`)
}

const denseText = ({ number, day, pass, steps, bytes, publishedAt }: DenseWeights) =>
  `dense weights ${number} over ${day}/${pass}: step ${steps}, ${sizeText(bytes)}, published ${timeText(publishedAt)}`

const timeText = (publishedAt: string) => publishedAt.slice(0, 19).replace('T', ' ')

const HEAD = ['number', 'version', 'kind', 'rows', 'went', 'size', 'published', 'id', 'follows']

const rowOf = ({ sequence, kind, rows, gone, bytes, publishedAt, id, follows }: Version, name: string) => [
  ...[String(sequence), name, kind, String(rows), String(gone), sizeText(bytes)],
  ...[timeText(publishedAt), id, follows ?? '-'],
]

function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
}

const problemText = ({ version, kind, message }: VersionProblem) => `${kind}: ${version}: ${message}`

async function verify(folder: string, { json }: Options, io: CliIo): Promise<void> {
  const { openVersions, readDelta, verifyVersions } = await import('../inference/versions/index.ts')
  const { compareWithCheckpoints } = await import('../training/online/index.ts')
  const { isRemotePath } = await import('../base/fs/index.ts')
  const source = openVersions(folder)
  const versions = await source.versions()
  // Each is looked at twice: its own files, then the rows that it leads to.
  const all = 2 * versions.reduce((sum, { bytes }) => sum + bytes, 0)
  const pace = paceOn(io.err, 'checked', 'bytes')
  let done = 0
  const onVersion = ({ bytes }: Version) => {
    done += bytes
    pace(done, all)
  }
  const problems = [...(await verifyVersions(source, onVersion))]
  let compared: readonly string[] = []
  if (problems.length === 0 && !isRemotePath(folder)) {
    const deltas = versions.filter(({ kind }) => kind === 'delta')
    const errors = await Promise.all(
      deltas.map(async (version) =>
        (await readDelta(await source.folder(version))).manifest.tables.map(({ maxError }) => maxError),
      ),
    )
    const result = await compareWithCheckpoints(folder, versions, Math.max(0, ...errors.flat()), onVersion)
    compared = result.compared
    problems.push(...result.problems)
  }
  pace(all, all)
  if (json) io.out.write(`${JSON.stringify({ kind: 'verified', versions: versions.length, compared, problems })}\n`)
  else {
    for (const problem of problems) io.out.write(`${problemText(problem)}\n`)
    if (problems.length === 0)
      io.out.write(
        `${versions.length} versions are whole; ${compared.length} of them were compared with the checkpoint after them, row by row.\n`,
      )
  }
  if (problems.length > 0)
    throw new UserError(`${problems.length} of the checks failed in ${folder}`, {
      code: 'VERSION_DAMAGED',
      hint: 'servers that follow wait at the first of them and take the next base',
    })
}
