/** @file Events as PaddleRec's static_trainer logs them, for output that is not a terminal: existing log parsers keep working. */
import { type ByKind, byKind, type Event, type EventOf, type EventSink, type Metrics } from './event.ts'
import { type PsSeen, psLines, psStart } from './paddle-ps.ts'
import { asctime, numpyText, pythonText } from './python-text.ts'
import { summaryLines } from './summary.ts'
import { forecastLines, passText, processText, rowsText, sliceLines } from './text.ts'

export interface PaddleSinkOptions {
  readonly now?: () => Date
}

/** Writes PaddleRec's lines, each with its `time - LEVEL - ` prefix. */
export function paddleSink(
  write: (text: string) => void,
  { now = () => new Date() }: PaddleSinkOptions = {},
): EventSink {
  let command: 'train' | 'infer' = 'train'
  let seen: PsSeen | undefined
  return (event) => {
    if (event.kind === 'start') {
      command = event.command
      seen = psStart(event)
    }
    const ps = seen && psLines(event, seen)
    seen = ps?.seen
    const level = LEVELS[event.kind] ?? 'INFO'
    for (const line of [...(ps?.before ?? []), ...paddleLines(event, command), ...(ps?.after ?? [])])
      write(`${asctime(now())} - ${level} - ${line}\n`)
  }
}

const LEVELS: Partial<Record<Event['kind'], string>> = { warning: 'WARNING', interrupted: 'WARNING', error: 'ERROR' }

/** The lines of one event without their prefix. Evaluation inside `train` says so, since PaddleRec runs it as a program of its own. */
export function paddleLines(event: Event, command: 'train' | 'infer'): readonly string[] {
  const phase = (event: EventOf<'batch' | 'epoch'>) => (event.phase === command ? '' : `${event.phase} `)
  const lines: ByKind<readonly string[]> = {
    start: ({ settings }) => [BOX, configsLine(command, settings), BOX],
    table: () => [],
    ready: () => [],
    epochStart: () => [],
    batch: (batch) => [`${phase(batch)}${batchLine(batch)}`],
    epoch: (epoch) => [
      `${phase(epoch)}epoch: ${epoch.epoch} done, ${metricsText(epoch.metrics)}epoch time: ${epoch.seconds.toFixed(2)} s`,
      ...sliceLines(epoch).map((line) => `${phase(epoch)}epoch: ${epoch.epoch}, ${line}`),
    ],
    saved: ({ path }) => [`Already save model in ${path}`],
    loaded: ({ path, epoch }) => [command === 'infer' ? `load model epoch ${epoch}` : `start load model from ${path}`],
    progress: () => [],
    forecast: forecastLines,
    passBegin: ({ loadSeconds, seconds }) => [
      `self.reader.load_into_memory cost :${loadSeconds} seconds`,
      `begin_pass cost:${seconds} seconds`,
    ],
    passEnd: (end) => [passText(end)],
    rows: (rows) => [rowsText(rows)],
    tables: () => [],
    published: () => [], // the lines of PaddleRec around it say so
    stream: () => [], // looked at often: a pass says it
    process: (process) => [processText(process)],
    output: ({ line, echo }) => (echo ? [line] : []),
    notice: ({ message }) => message.split('\n'),
    warning: ({ message }) => message.split('\n'),
    interrupted: ({ epoch, batch, samples, path }) => [
      `interrupted, epoch: ${epoch}, batch_id: ${batch}, samples: ${samples}${path ? `, saved in ${path}, --resume continues there` : ''}`,
    ],
    error: ({ message, where, hint }) => [`${where ? `${where} ` : ''}${message}${hint ? ` ${hint}` : ''}`],
    done: (done) => [...summaryLines(done), `${command} ${doneLine(done)}`],
  }
  return byKind(lines, event)
}

const BOX = '**************common.configs**********'

/** What each command's box shows, in order; where PaddleRec's word for a key differs from the key, after a colon. */
const CONFIGS = {
  train: 'use_gpu use_xpu use_visual train_batch_size train_data_dir epochs print_interval model_save_path',
  infer:
    'use_gpu use_xpu use_visual infer_batch_size test_data_dir infer_start_epoch:start_epoch infer_end_epoch:end_epoch print_interval infer_load_path:model_load_path',
}
const ABSENT: Readonly<Record<string, unknown>> = { use_gpu: false, use_xpu: false, use_visual: false }

function configsLine(command: 'train' | 'infer', settings: Readonly<Record<string, unknown>>): string {
  const fields = CONFIGS[command].split(' ').map((field) => {
    const [key, shown = key] = field.split(':') as [string, string?]
    return `${shown}: ${pythonText(settings[`runner.${key}`] ?? ABSENT[key])}`
  })
  return fields.join(', ')
}

function batchLine(event: EventOf<'batch'>): string {
  const cost = `avg_reader_cost: ${event.readerSecondsPerBatch.toFixed(5)} sec, avg_batch_cost: ${event.secondsPerBatch.toFixed(5)} sec`
  const speed = event.samplesPerSecond.toFixed(event.phase === 'infer' ? 2 : 5)
  return `epoch: ${event.epoch}, batch_id: ${event.batch}, ${metricsText(event.metrics)}${cost}, avg_samples: ${event.samplesPerBatch.toFixed(5)}, ips: ${speed} ins/s`
}

function doneLine({ samples, seconds, samplesPerSecond, digest }: EventOf<'done'>): string {
  const text = `done, samples: ${samples}, time: ${seconds.toFixed(2)} s, ips: ${samplesPerSecond.toFixed(2)} ins/s`
  return digest === undefined ? text : `${text}, digest: ${digest}`
}

function metricsText(metrics: Metrics): string {
  return Object.entries(metrics)
    .map(([name, value]) => `${name}: ${numpyText(value)}, `)
    .join('')
}
