/** @file Events as PaddleRec 1.x prints them: progress on standard error, what ends an epoch on standard output. */
import { type ByKind, byKind, type Event, type EventOf, type EventSink, type Metrics } from './event.ts'
import { asctime, numpyText, pythonText } from './python-text.ts'
import { forecastLines, passText, processText, rowsText } from './text.ts'

export interface PaddleV1Streams {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly now?: () => Date
}

export function paddleV1Sink({ out, err, now = () => new Date() }: PaddleV1Streams): EventSink {
  let seen: Seen = { runner: '', phase: '', folder: '', command: 'train', family: 'Single', at: now() }
  return (event) => {
    const time = now()
    const { plain = [], logged = [], level = 'INFO' } = paddleV1Lines(event, seen, time)
    seen = follow(seen, event, time)
    for (const line of plain) out(`${line}\n`)
    for (const line of logged) err(`${asctime(time)} - ${level}: ${line}\n`)
  }
}

/** What earlier events said and later lines show. */
export interface Seen {
  readonly runner: string
  readonly phase: string
  readonly command: 'train' | 'infer'
  /** What PaddleRec's stages are called after. */
  readonly family: 'Single' | 'PS'
  /** Of the model that was loaded last. */
  readonly folder: string
  /** When the last progress line was printed, or the pass began. */
  readonly at: Date
}

function follow(seen: Seen, event: Event, time: Date): Seen {
  if (event.kind === 'epochStart' || (event.kind === 'batch' && event.batch > 0)) return { ...seen, at: time }
  if (event.kind === 'start') {
    const { settings, command, job } = event
    const [runner, phase] = [String(settings['runner.name']), String(settings['phase.name'])]
    return { ...seen, runner, phase, command, family: job ? 'PS' : 'Single' }
  }
  if (event.kind === 'loaded') return { ...seen, folder: event.path.split(/[\\/]/).at(-1)! }
  return event.kind === 'done' ? { ...seen, runner: '' } : seen
}

export interface V1Lines {
  /** To standard output, as they are. */
  readonly plain?: readonly string[]
  /** To standard error, behind time and level. */
  readonly logged?: readonly string[]
  readonly level?: string
}

export function paddleV1Lines(event: Event, seen: Seen, time: Date): V1Lines {
  const { runner, phase, folder, command: running } = seen
  const seconds = (time.getTime() - seen.at.getTime()) / 1000
  const lines: ByKind<V1Lines> = {
    start: (start) => (start.settings['runner.name'] === runner ? {} : { plain: startLines(start) }),
    table: (table) => ({ plain: tableLines(table) }),
    ready: () => ({ plain: [stageLine(seen.family, running, 'Runner')] }),
    epochStart: () => ({}),
    batch: (batch) => (batch.batch === 0 ? {} : { logged: [batchLine(batch, seconds)] }),
    epoch: (epoch) => ({ plain: [epochLine(epoch, phase, folder)] }),
    saved: ({ path, epoch, batch }) => ({
      logged: [`\tsave epoch_id:${epoch}${batch === undefined ? '' : `, batch_id:${batch}`} model into: "${path}"`],
    }),
    loaded: ({ path }) => ({
      plain:
        running === 'infer'
          ? [`load persistables from ${path}`]
          : [`going to load  ${path}`, `load from ${path} success`],
    }),
    progress: () => ({}),
    forecast: (forecast) => ({ plain: forecastLines(forecast) }),
    passBegin: () => ({}),
    passEnd: (end) => ({ plain: [passText(end)] }),
    rows: (rows) => ({ plain: [rowsText(rows)] }),
    tables: () => ({ plain: [] }),
    published: () => ({ plain: [] }),
    stream: () => ({ plain: [] }),
    process: (process) => ({ plain: [processText(process)] }),
    output: ({ line, echo }) => (echo ? { plain: [line] } : {}),
    notice: ({ message }) => ({ plain: message.split('\n') }),
    warning: ({ message }) => ({ logged: message.split('\n'), level: 'WARNING' }),
    interrupted: ({ epoch, batch }) => ({
      logged: [`interrupted, epoch: ${epoch}, batch: ${batch}`],
      level: 'WARNING',
    }),
    error: ({ message, where, hint }) => ({
      logged: [`${where ? `${where} ` : ''}${message}${hint ? ` ${hint}` : ''}`],
      level: 'ERROR',
    }),
    done: () => ({ plain: ['PaddleRec Finish'] }),
  }
  return byKind(lines, event)
}

/** A server does no more than its network: it serves. */
function startLines({ command, settings, job }: EventOf<'start'>): readonly string[] {
  const stages =
    job?.role === 'server' ? (['Instance', 'Network'] as const) : (['Instance', 'Network', 'Startup'] as const)
  return [
    `PaddleRec: Runner ${settings['runner.name']} Begin`,
    `Executor Mode: ${command}`,
    'processor_register begin',
    ...stages.map((stage) => stageLine(job ? 'PS' : 'Single', command, stage)),
  ]
}

function stageLine(family: Seen['family'], command: Seen['command'], stage: string): string {
  const infers = command === 'infer' && (stage === 'Startup' || stage === 'Runner')
  return `Running ${family}${infers ? 'Infer' : ''}${stage}.`
}

/** The spaces are PaddleRec's. */
function batchLine({ phase, epoch, batch, metrics, reports, shown = {} }: EventOf<'batch'>, seconds: number): string {
  const head = phase === 'train' ? `\t[Train],  epoch: ${epoch},  batch: ${batch}` : `\t[Infer] batch: ${batch}`
  const values = plainMetrics(metrics, reports).map(([name, value]) => `${name}: [${numpyText(value)}]`)
  const time = `time_each_interval: ${seconds.toFixed(2)}s`
  const more = Object.entries(shown).map(([name, value]) => `${name}: ${arrayText(value)}`)
  return [head, time, ...values, ...more].join(', ')
}

/** As NumPy prints it, on one line. */
function arrayText(value: readonly (number | readonly number[])[]): string {
  return `[${value.map((item) => (typeof item === 'number' ? numpyText(item) : arrayText(item))).join(' ')}]`
}

function epochLine(
  { phase, epoch, seconds, metrics, reports }: EventOf<'epoch'>,
  name: string,
  folder: string,
): string {
  const what = phase === 'train' ? `epoch ${epoch} done` : `Infer ${name} of epoch ${folder} done`
  const values = plainMetrics(metrics, reports).map(([key, value]) => `${key}=[${numpyText(value)}]`)
  const all = [...values, ...Object.values(reports ?? {})]
  return `${what}, use time: ${seconds}${all.length > 0 ? `, global metrics: ${all.join(', ')}` : ''}`
}

/** Without the parts of reports, which have words of their own. */
function plainMetrics(metrics: Metrics, reports: Readonly<Record<string, string>> = {}): [string, number][] {
  const names = Object.keys(reports)
  return Object.entries(metrics).filter(([key]) => !names.some((name) => key.startsWith(`${name}.`)))
}

const [KEY, GAP, VALUE] = [45, 5, 50] as const

/** Keys and values between rules; of a long value the end is shown, since paths differ there. */
export function tableLines({ title, values }: Pick<EventOf<'table'>, 'title' | 'values'>): readonly string[] {
  const key = Math.max(KEY, ...Object.keys(values).map(({ length }) => length))
  const width = key + GAP + VALUE
  const gap = ' '.repeat(GAP)
  const rows = Object.entries(values).map(([name, value]) => `${name.padEnd(key)}${gap}${cut(value).padEnd(VALUE)}`)
  return [
    '',
    '='.repeat(width),
    `${centred(title, key)}${gap}${'Value'.padEnd(VALUE)}`,
    '-'.repeat(width),
    ...rows,
  ].concat(['='.repeat(width), ''])
}

function cut(value: unknown): string {
  const text = pythonText(value)
  return typeof value === 'string' && text.length >= VALUE ? `... ${text.slice(4 - VALUE)}` : text
}

function centred(text: string, width: number): string {
  return text.padStart(text.length + Math.floor((width - text.length) / 2)).padEnd(width)
}
