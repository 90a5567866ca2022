/** @file The figures as Markdown, and their place in the docs. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import type { Accuracy } from './accuracy.ts'
import { collectiveTable, dataParallelTable } from './collective-report.ts'
import { markdown } from './markdown.ts'
import { psTables } from './ps-report.ts'
import type { SpeedFigure } from './speed.ts'
import { at, type Json, median, thousands } from './tools.ts'

export interface Figures {
  readonly speed?: readonly SpeedFigure[]
  readonly reader?: readonly Json[]
  readonly table?: readonly Json[]
  readonly accuracy?: Accuracy
  readonly serve?: readonly Json[]
  readonly ps?: readonly Json[]
  readonly fluid?: readonly Json[]
  readonly paddleFiles?: readonly Json[]
  readonly collective?: readonly Json[]
  readonly dataParallel?: readonly Json[]
}

export function report(figures: Figures): string {
  const { speed, reader, table, accuracy, serve, ps, fluid, paddleFiles, collective, dataParallel } = figures
  const parts = [
    `Measured with Node ${process.version} on ${cpus().length} cores (${cpus()[0]?.model.trim()}).`,
    speed && speedTable(speed),
    speed && breakdownTable(speed),
    reader && readerTable(reader),
    table && rowsTable(table),
    accuracy && accuracyTable(accuracy),
    serve && serveTable(serve),
    ps && psTables(ps),
    fluid && fluidTable(fluid),
    paddleFiles && paddleFilesTable(paddleFiles),
    collective && collectiveTable(collective),
    dataParallel && dataParallelTable(dataParallel),
  ]
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`
}

function fluidTable(rounds: readonly Json[]): string {
  const of = (key: string) => median(rounds.map((round) => Number(round[key])))
  const rows = [['fluid program with Fleet', of('fluid')] as const, ['fleetrun', of('fleetrun')] as const]
  const table = markdown(
    ['CTR DNN, 2 workers, 2 servers', 'samples/s (median)'],
    rows.map(([name, rate]) => [name, thousands(rate)]),
  )
  return `${table}\n\nThe program's rate is ${of('ratio').toFixed(2)} of fleetrun's (median of ${rounds.length} rounds).`
}

/** Puts the whole report into docs/reference/benchmarks.md and the speed table into both READMEs, between their markers. */
export function writeDocs(figures: Figures): void {
  replaceBetween(at('docs/reference/benchmarks.md'), report(figures))
  if (!figures.speed) return
  const table = speedTable(figures.speed)
  replaceBetween(at('README.md'), table)
  replaceBetween(at('README.zh-CN.md'), inChinese(table))
}

/** The words of the table; numbers stay. */
const CHINESE = [
  ['CTR DNN, batch 512', 'CTR DNN，batch 512'],
  ['| threads |', '| 线程数 |'],
  ['samples/s (median)', '样本/秒（中位数）'],
  ['| spread |', '| 波动范围 |'],
  ['oarfish from slot text is', 'oarfish（slot 文本）相当于'],
  ['oarfish, slot text', 'oarfish，slot 文本'],
  ['slot 文本, --mode dygraph', 'slot 文本，--mode dygraph'],
  ['oarfish, MultiSlot text', 'oarfish，MultiSlot 文本'],
  ['limit: the step graph alone', '上限：只跑计算图'],
  ["limit: the same graph, Python's onnxruntime", '上限：同一张图，Python 的 onnxruntime'],
  ['PyTorch, batches in memory, no reader', 'PyTorch，数据在内存中，不计读取'],
  ['2, QueueDataset', '2，QueueDataset'],
] as const

function inChinese(table: string): string {
  const words = CHINESE.reduce((text, [english, chinese]) => text.replaceAll(english, chinese), table)
  return words.replaceAll(/(\d) to (\d)/g, '$1 ~ $2').replaceAll(/(\d)x \|/g, '$1 倍 |')
}

function replaceBetween(file: string, text: string): void {
  const [begin, end] = ['<!-- bench:begin -->', '<!-- bench:end -->']
  const old = readFileSync(file, 'utf8')
  writeFileSync(file, old.replace(new RegExp(`${begin}[\\s\\S]*${end}`), `${begin}\n${text.trim()}\n${end}`))
}

function speedTable(speed: readonly SpeedFigure[]): string {
  const ours = (threads: number) =>
    speed.find(({ name, threads: t }) => name.startsWith('oarfish, slot') && t === threads)!.samplesPerSecond
  const rows = speed.map(({ name, threads, samplesPerSecond, rounds }) => {
    const ratio = ours(threads) / samplesPerSecond
    const spread = `${thousands(Math.min(...rounds))} to ${thousands(Math.max(...rounds))}`
    return [
      name,
      threads,
      thousands(samplesPerSecond),
      spread,
      name.startsWith('oarfish') ? '' : `${ratio.toFixed(2)}x`,
    ]
  })
  return markdown(['CTR DNN, batch 512', 'threads', 'samples/s (median)', 'spread', 'oarfish from slot text is'], rows)
}

function breakdownTable(speed: readonly SpeedFigure[]): string {
  const rows = speed.flatMap(({ name, threads, breakdown, samples = 0, startupSeconds = 0 }) => {
    if (!breakdown) return []
    const perBatch = (part: string) => `${(((breakdown[part] ?? 0) * 1000 * 512) / samples).toFixed(2)}`
    return [[name, threads, ...PARTS.map(([part]) => perBatch(part)), `${startupSeconds.toFixed(2)} s`]]
  })
  return markdown(['ms a batch in a trainer thread', 'threads', ...PARTS.map(([, title]) => title), 'start-up'], rows)
}

const PARTS = [
  ['trace', 'trace'],
  ['load', 'copy in'],
  ['lookup', 'distinct + lookup'],
  ['gather', 'gather'],
  ['run', 'run'],
  ['merge', 'merge'],
  ['update', 'row update'],
  ['dense', 'dense weights'],
] as const

function readerTable(reader: readonly Json[]): string {
  const rows = reader.map((row) => [
    [row['format'], String(row['dir']).endsWith('gz') ? 'gz' : undefined, row['command']].filter(Boolean).join(', '),
    String(row['threads']),
    thousands(Number(row['samplesPerSecond'])),
    thousands(Number(row['megabytesPerSecond'])),
    Number(row['cpuMsPerBatch']).toFixed(2),
  ])
  return markdown(['reader alone', 'threads', 'samples/s', 'MB/s of file', 'CPU ms per 512 samples'], rows)
}

function rowsTable(table: readonly Json[]): string {
  const rows = table.map((row) => [
    thousands(Number(row['rows'])),
    String(row['draw']),
    ...['lookupNs', 'updateNs', 'bytesPerRow', 'worstBytesPerRow', 'longestInsertBatchMs'].map((key) =>
      Number(row[key]).toFixed(1),
    ),
  ])
  return markdown(
    [
      'rows (dim 9, Adam)',
      'ids',
      'lookup ns a sign',
      'update ns a sign',
      'resident bytes a row',
      'most at any moment',
      'longest batch of inserts, ms',
    ],
    rows,
  )
}

function accuracyTable({ rows, hiddenAuc, figures }: Accuracy): string {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
  const shown = (values: readonly number[]) =>
    `${mean(values).toFixed(4)} (${Math.min(...values).toFixed(4)} to ${Math.max(...values).toFixed(4)})`
  const body = figures.map(({ name, threads, train, test }) => [name, threads, shown(train), shown(test)])
  return `${markdown([`one pass over ${thousands(rows)} rows, 3 seeds`, 'threads', 'train AUC', 'test AUC'], body)}\n\nThe hidden model's own test AUC is ${hiddenAuc.toFixed(4)}.`
}

function serveTable(serve: readonly Json[]): string {
  const rows = serve.map((row) => [
    ...[
      `${row['name']}${row['reloads'] ? ` (${row['reloads']} times)` : ''}`,
      thousands(Number(row['requestsPerSecond'])),
    ],
    ...[row['p50Ms'], row['p99Ms'], row['errors']].map(String),
  ])
  const { client, connections, threads } = serve[0]!
  return `\`oarfish serve\`, ${threads} scoring thread, ${connections} connections of ${client}, one sample a request:\n\n${markdown(
    ['', 'requests/s', 'p50 ms', 'p99 ms', 'errors'],
    rows,
  )}`
}

/** Per server. */
function paddleFilesTable(figures: readonly Json[]): string {
  const count = (value: unknown) => (typeof value === 'number' ? thousands(value) : '')
  const same = ({ largestDifference: away }: Json) => (typeof away === 'number' ? away.toExponential(1) : '')
  const rows = figures.map((figure) => [
    String(figure['what']),
    ...[figure['rows'], figure['saveRowsPerMinute'], figure['loadRowsPerMinute']].map(count),
    same(figure),
  ])
  const head = ["Paddle's files", 'rows', 'rows/min saved', 'rows/min loaded', 'largest difference of predictions']
  return markdown(head, rows)
}
