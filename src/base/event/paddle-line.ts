/** @file A line of PaddleRec's form back into its event: what a log tells of a run whose own record is out of reach. */
import type { Event, EventOf } from './event.ts'

const LINE = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3}) - (INFO|WARNING|ERROR) - (.*)$/
const BATCH =
  /^(infer )?epoch: (\d+), batch_id: (\d+), (.*)avg_reader_cost: (\S+) sec, avg_batch_cost: (\S+) sec, avg_samples: (\S+), ips: (\S+) ins\/s$/
const EPOCH = /^(infer )?epoch: (\d+) done, (.*)epoch time: (\S+) s$/
const SAVED = /^Already save model in (\S*?(\d+))$/
const DONE = /^(?:train|infer) done, samples: (\d+), time: (\S+) s, ips: (\S+) ins\/s/
const METRIC = /([\w.@%-]{1,40}): (-?(?:\d[\d.e+-]*|inf|nan)), /g
/** A log is a user's to write. */
const MOST_METRICS = 20

/** With its time, in the zone of this host; undefined for all other lines. */
export function readPaddleLine(line: string): { readonly at: number; readonly event: Event } | undefined {
  const [, day, time, milliseconds, level, text = ''] = LINE.exec(line) ?? []
  const at = Date.parse(`${day}T${time}.${milliseconds}`)
  if (!Number.isFinite(at)) return undefined
  if (level === 'WARNING') return { at, event: { kind: 'warning', message: text } }
  if (level === 'ERROR') return { at, event: { kind: 'error', code: level, message: text } }
  const event = batchOf(text) ?? epochOf(text) ?? savedOf(text) ?? doneOf(text)
  return event && { at, event }
}

const phaseOf = (word: string | undefined) => (word === undefined ? 'train' : 'infer')

function batchOf(text: string): EventOf<'batch'> | undefined {
  const found = BATCH.exec(text)
  if (!found) return undefined
  const [, infer, epoch, batch, metrics, reader, cost, perBatch, rate] = found
  return {
    ...{ kind: 'batch', phase: phaseOf(infer), epoch: Number(epoch), batch: Number(batch) },
    // The line tells how many a batch has, not how many there were.
    ...{ samples: Math.round((Number(batch) + 1) * Number(perBatch)), fraction: Number.NaN },
    ...{ metrics: metricsIn(metrics!), readerSecondsPerBatch: Number(reader), secondsPerBatch: Number(cost) },
    ...{ samplesPerBatch: Number(perBatch), samplesPerSecond: Number(rate) },
  }
}

function epochOf(text: string): EventOf<'epoch'> | undefined {
  const found = EPOCH.exec(text)
  if (!found) return undefined
  const [, infer, epoch, metrics, seconds] = found
  const about = { phase: phaseOf(infer), epoch: Number(epoch), seconds: Number(seconds) } as const
  return { kind: 'epoch', ...about, samples: 0, samplesPerSecond: 0, metrics: metricsIn(metrics!) }
}

function savedOf(text: string): EventOf<'saved'> | undefined {
  const found = SAVED.exec(text)
  return found ? { kind: 'saved', path: found[1]!, epoch: Number(found[2]) } : undefined
}

function doneOf(text: string): EventOf<'done'> | undefined {
  const found = DONE.exec(text)
  if (!found) return undefined
  const [samples, seconds, samplesPerSecond] = found.slice(1).map(Number) as [number, number, number]
  return { kind: 'done', samples, seconds, samplesPerSecond, metrics: {} }
}

const metricsIn = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(METRIC)].slice(0, MOST_METRICS).map(([, name, value]) => [name!, numberOf(value!)] as const),
  )

const numberOf = (text: string) => (text.endsWith('inf') ? Number(text.replace('inf', 'Infinity')) : Number(text))
