/** @file Events as PaddlePaddle's first trainer logs them, in glog's form: scripts that look for costs in its log keep working. */
import { type ByKind, byKind, type Event, type EventOf, type EventSink, type Metrics } from './event.ts'
import { forecastLines, passText, processText, rowsText } from './text.ts'

export interface PaddleTrainerOptions {
  /** Stands in every line: the original has the place in its source there. */
  readonly program: 'trainer' | 'pserver'
  readonly pid: number
  readonly now?: () => Date
}

/** Writes lines such as `I1116 08:05:09.042000 4242 trainer]  Test samples=20000 cost=3.4 Eval: `. */
export function paddleTrainerSink(
  write: (text: string) => void,
  { program, pid, now = () => new Date() }: PaddleTrainerOptions,
): EventSink {
  let seen: EventOf<'batch'> | undefined
  return (event) => {
    const level = LEVELS[event.kind] ?? 'I'
    for (const line of paddleTrainerLines(event, seen)) write(`${level}${glogTime(now())} ${pid} ${program}] ${line}\n`)
    if (event.kind === 'batch') seen = event
  }
}

const LEVELS: Partial<Record<Event['kind'], string>> = { warning: 'W', interrupted: 'W', error: 'E' }

/** `before` is the last batch that was printed. */
export function paddleTrainerLines(event: Event, before: EventOf<'batch'> | undefined): readonly string[] {
  const lines: ByKind<readonly string[]> = {
    start: ({ model, settings }) => [`commandline: ${model}${settingsText(settings)}`],
    table: () => [],
    ready: ({ startupSeconds }) => [`Ready after ${startupSeconds.toFixed(2)} s`],
    epochStart: () => [],
    // The first of a pass is a batch old: the original prints whole periods.
    batch: (batch) => (batch.phase === 'infer' || batch.batch === 0 ? [] : [batchLine(batch, before)]),
    epoch: ({ phase, epoch, samples, metrics }) => [
      phase === 'train'
        ? ` Pass=${epoch} samples=${samples} AvgCost=${costText(metrics)} Eval: `
        : ` Test samples=${samples} cost=${costText(metrics)} Eval: `,
    ],
    saved: ({ path }) => [`Saving parameters to ${path}`],
    loaded: ({ path }) => [`Loading parameters from ${path}`],
    progress: () => [],
    forecast: forecastLines,
    passBegin: () => [],
    passEnd: (end) => [passText(end)],
    rows: (rows) => [rowsText(rows)],
    tables: () => [],
    published: () => [],
    stream: () => [], // looked at often: a pass says it
    process: (process) => [processText(process)],
    output: ({ line, echo }) => (echo ? [line] : []),
    notice: ({ message }) => message.split('\n'),
    warning: ({ message }) => message.split('\n'),
    interrupted: ({ epoch, batch, samples }) => [`Interrupted: Pass=${epoch} Batch=${batch} samples=${samples}`],
    error: ({ message, where, hint }) => `${where ? `${where} ` : ''}${message}${hint ? `\n${hint}` : ''}`.split('\n'),
    done: ({ samples, seconds }) => [`Done: ${samples} samples in ${seconds.toFixed(2)} s`],
  }
  return byKind(lines, event)
}

function batchLine(batch: EventOf<'batch'>, before: EventOf<'batch'> | undefined): string {
  const { epoch, samples, metrics } = batch
  const same = before?.epoch === epoch && before.phase === batch.phase ? before : undefined
  const [all, old] = [costOf(metrics) * samples, same ? costOf(same.metrics) * same.samples : 0]
  const current = (all - old) / (samples - (same?.samples ?? 0))
  const costs = `AvgCost=${costText(metrics)} CurrentCost=${numberText(current)}`
  return ` Batch=${batch.batch} samples=${samples} ${costs} Eval:  CurrentEval: `
}

const costOf = (metrics: Metrics) => metrics['cost'] ?? metrics['loss'] ?? Number.NaN
const costText = (metrics: Metrics) => numberText(costOf(metrics))

/** Six digits, as C++ writes a number. */
const numberText = (value: number) => String(Number(value.toPrecision(6)))

function settingsText(settings: Readonly<Record<string, unknown>>): string {
  return Object.entries(settings)
    .map(([name, value]) => ` --${name}=${value === true ? 1 : value === false ? 0 : value}`)
    .join('')
}

/** `1116 08:05:09.042000`: month and day, then the time to the microsecond, of which a clock here knows thousands. */
function glogTime(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${two(date.getMonth() + 1)}${two(date.getDate())} ${time}.${String(date.getMilliseconds()).padStart(3, '0')}000`
}
