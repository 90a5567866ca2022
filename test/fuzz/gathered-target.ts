/** @file What processes that train together bring when they meet, damaged. */
import { anything, BadMessage, type Reader, readJson } from '../../src/base/net/index.ts'
import {
  readBroughtPlace,
  readCount,
  readCutAsked,
  readFailure,
  readModels,
  readNothing,
  readOutcome,
  readParts,
  readPath,
  readPlace,
  readRankFiles,
  readReport,
  readSaved,
  readSettings,
  readStart,
  readTablePlan,
  readTold,
  readTruth,
} from '../../src/training/driver/gathered.ts'
import { readPace, readPaceRequest } from '../../src/training/ps/rules.ts'
import type { Target } from './targets.ts'

const READERS: readonly Reader<unknown>[] = [
  ...[readBroughtPlace, readCount, readCutAsked, readFailure, readParts, readPath, readPlace],
  ...[
    readModels,
    readOutcome(readModels),
    readOutcome(readNothing),
    readStart,
    readRankFiles,
    readReport,
    readSaved,
    readSettings,
    readTablePlan,
    readTold,
    readTruth,
    readPace,
    readPaceRequest,
  ],
]

const PLACE = {
  position: { epoch: 1, batch: 2, chunk: 3, sample: 4, checksum: 5 },
  input: { files: 2, bytes: 300, crc32: '0123abcd' },
  claimed: [{ from: 0, to: 4 }],
  begun: [{ place: 2, sample: 7 }],
  chunkBytes: 4096,
}
const FAILURE = { name: 'Error', message: 'x', user: { code: 'NET_PEER_LOST', hint: 'y' } }
const PART = {
  table: 0,
  part: { rows: 3, signs: 'table-0.0.signs', values: 'table-0.0.values' },
  files: { 'table-0.0.signs': { bytes: 24, crc32: '0123abcd' } },
  rows: 3,
}
const METER = { samples: 9, batches: 1, seconds: 0.5, sums: { loss: null }, histograms: { auc: [0, 1] }, groups: {} }
const COUNTS = { samples: 9, batches: 1, seconds: 0.5, sums: {}, histograms: {} }
const FILES = [{ name: 'part-0', bytes: 100, head: 'abcd' }]

/** Each is what one of the readers takes. */
export const GATHERED: readonly unknown[] = [
  PLACE,
  { ...PLACE, hasLostRows: false, unsaid: FAILURE },
  { aside: '/models/.aside', changed: true },
  { error: FAILURE },
  { value: [{ epoch: 0, folder: 'output/0', key: 'runner.model_save_path' }] },
  { epoch: 3, history: [{ epoch: 0, train: { auc: 0.5 }, test: { auc: null } }], workers: [PLACE], before: COUNTS },
  [PART],
  { parts: [PART] },
  { meter: METER, stopped: false, paused: false, read: { chunks: [0, 1], of: 2 } },
  { files: { train: FILES, infer: [] }, asks: false },
  { sharded: [true], notices: ['divided'] },
  { done: 3, next: 4, ahead: 1 },
  { slowest: null, awaited: [0, 1] },
]

/** How many readers take it. */
export function takersOf(input: Uint8Array): number {
  let value: unknown
  try {
    value = readJson(input, 'it', anything)
  } catch (error) {
    if (error instanceof BadMessage) return 0
    throw error
  }
  return READERS.filter((read) => {
    try {
      read(value, 'it')
      return true
    } catch (error) {
      if (error instanceof BadMessage) return false
      throw error
    }
  }).length
}

export const GATHERED_TARGETS: Readonly<Record<string, Target>> = {
  gathered: {
    words: ['null', 'true', '-1', '1e308', '"__proto__":', '[', '{', '{}', '..', '\\u0000', '9007199254740993'],
    open: () => ({
      corpus: GATHERED.map((value) => Buffer.from(JSON.stringify(value))),
      run: (input) => void takersOf(input),
    }),
  },
}
