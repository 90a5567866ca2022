/** @file What processes that train together bring when they meet, each as the others must find it. */
import { z } from 'zod'
import type { EpochRecord } from '../../base/event/index.ts'
import {
  anything,
  BadMessage,
  fields,
  list,
  nullable,
  number,
  optional,
  type Reader,
  readPlainError,
  record,
  text,
  truth,
  whole,
} from '../../base/net/index.ts'
import type { PlainError } from '../../base/util/index.ts'
import { type MeterState, place, type RankPlace, type SavedPart, savedPart } from '../../weights/snapshot/index.ts'
import type { PlainMeter } from '../threads/index.ts'
import type { SavedModel, TrainingStart } from './job.ts'
import type { PassReport } from './pass-report.ts'
import type { FileReport } from './worker-input.ts'
import type { Outcome } from './worker-model.ts'

const MOST_FILES = 10_000_000
const MOST_TABLES = 100_000
const count = whole(0, Number.MAX_SAFE_INTEGER)
const path = text(16 * 1024)

const bySchema =
  <T>(schema: z.ZodType<T>): Reader<T> =>
  (value, at) => {
    const { success, data, error } = schema.safeParse(value)
    if (success) return data
    const [issue] = error.issues
    throw new BadMessage(`${[at, ...(issue?.path ?? [])].join('.')}: ${issue?.message}`)
  }

export const readTruth = truth
export const readCount = count
export const readPath = path
/** Where something was saved, told by the one that has saved. */
export const readSaved = nullable(path)
export const readFailure = nullable(readPlainError)
/** By key of the config: compared, and nothing else. */
export const readSettings: Reader<Readonly<Record<string, unknown>>> = record(anything, 10_000)
export const readTablePlan = fields({ sharded: list(truth, MOST_TABLES), notices: list(text(64 * 1024), MOST_TABLES) })
export const readPlace: Reader<RankPlace> = bySchema(place)
export const readParts: Reader<readonly SavedPart[]> = bySchema(z.array(savedPart))

/** Rank 0 says where parts of a cut go. */
export interface CutAsked {
  readonly aside: string
  readonly changed: boolean
}
export const readCutAsked: Reader<CutAsked | null> = nullable(fields<CutAsked>({ aside: path, changed: truth }))

/** What ranks know of each other when they make a cut. */
export interface Brought extends RankPlace {
  readonly hasLostRows: boolean
  readonly unsaid: PlainError | null
}
const broughtForm = bySchema(place.extend({ hasLostRows: z.boolean(), unsaid: z.unknown() }))
export const readBroughtPlace: Reader<Brought> = (value, at) => {
  const brought = broughtForm(value, at)
  return { ...brought, unsaid: readFailure(brought.unsaid, `${at}.unsaid`) }
}

/** What the first has found for all, or its failure. */
export const readOutcome = <T>(value: Reader<T>): Reader<Outcome<T> | null> =>
  nullable(fields<Outcome<T>>({ value: optional(value), error: optional(readPlainError) }))

/** The work has a failure to tell, or nothing. */
export const readNothing: Reader<void> = (value, at) => {
  if (value !== undefined) throw new BadMessage(`${at}: expected nothing`)
}
export const readModels: Reader<readonly SavedModel[]> = list(
  fields<SavedModel>({ epoch: whole(-1, Number.MAX_SAFE_INTEGER), folder: path, key: path }),
  MOST_FILES,
)

/** A rank's answer in the folder of a cut. */
export interface Told {
  readonly parts?: readonly SavedPart[] | undefined
  readonly error?: PlainError | undefined
}
export const readTold = fields<Told>({ parts: optional(readParts), error: optional(readPlainError) })

const MOST_NAMES = 100_000
/** Counts of a million groups: looked through at once, not named one by one. */
const numbers: Reader<number[]> = (value, at) => {
  if (Array.isArray(value) && value.every((each) => typeof each === 'number' || each === null)) return value
  throw new BadMessage(`${at}: expected a list of numbers`)
}
const lists = record(numbers, MOST_NAMES)
const meter = fields<PlainMeter>({
  samples: count,
  batches: count,
  seconds: number,
  sums: record(number, MOST_NAMES),
  histograms: lists,
  groups: lists,
})
export const readReport = fields<PassReport>({
  meter,
  stopped: truth,
  paused: truth,
  read: fields<PassReport['read']>({ chunks: list(count, MOST_FILES), of: count }),
})

/** Where worker 0 says that training begins. What was measured before is counts alone: the rest stays at the first. */
export interface SharedStart extends Pick<TrainingStart, 'history' | 'workers' | 'before'> {
  readonly epoch: number
}
const metrics = record(number, MOST_NAMES)
const nothingOf = record<never>((_, at) => {
  throw new BadMessage(`${at}: expected nothing`)
}, 0)
const history = optional(
  list(fields<EpochRecord>({ epoch: count, train: metrics, test: optional(metrics) }), MOST_FILES),
)
const places = optional(list(readPlace, MOST_FILES))
const before = optional(
  fields<MeterState>({
    samples: count,
    batches: count,
    seconds: number,
    sums: nothingOf,
    histograms: nothingOf,
    groups: optional(nothingOf),
  }),
)
export const readStart = fields<SharedStart>({ epoch: count, history, workers: places, before })

/** The same of rank 0, with the steps that its optimizers have made. */
export interface SharedRankStart extends Pick<TrainingStart, 'history' | 'ranks' | 'before' | 'position'> {
  readonly steps: number
}
export const readRankStart = fields<SharedRankStart>({
  position: bySchema(place.shape.position),
  steps: count,
  history,
  ranks: places,
  before,
})

const reports = list(fields<FileReport>({ name: path, bytes: count, head: text(64 * 1024) }), MOST_FILES)
export const readFileReports = fields<Readonly<Record<'train' | 'infer', readonly FileReport[]>>>({
  train: reports,
  infer: reports,
})
/** `asks`: its reader divides the files itself. */
export const readRankFiles = fields({ files: readFileReports, asks: truth })
