/** @file How the data of passes come in: splits of days in folders, or a stream. */
import type { JobConfig } from '../../base/config/index.ts'
import { UserError } from '../../base/util/index.ts'
import type { Days, PassOfDay } from './days.ts'
import { type FoundPass, findPass } from './split-folders.ts'

/** What was found of a pass, as JSON. */
export interface Arrived extends FoundPass {
  /** Nothing more will come: the job has ended. */
  readonly isDone?: boolean | undefined
  /** Where it is not known before: which pass of which day it is. */
  readonly pass?: PassOfDay | undefined
}

export interface Arrivals {
  /** Looks once. At the first process. */
  look(epoch: number): Promise<Arrived>
  /** Data of a pass before or behind, to see what they are like; undefined: there are none. At the first process. */
  example(epoch: number): Promise<readonly string[] | undefined>
  /** Whether a pass may go on without what is missing. */
  readonly skips: boolean
  /** Whether `look` may be asked ahead, at every process. */
  readonly looksAhead: boolean
  /** Every process learns which pass it is. */
  tell?(epoch: number, pass: PassOfDay): void
  close?(): Promise<void>
}

/** `<train_data_dir>/<day>/<HHMM>/` */
export function splitArrivals(config: JobConfig, days: Days): Arrivals {
  return {
    skips: true,
    looksAhead: true,
    look: (epoch) => findPass(config, days.at(epoch)),
    // The last before it, else the first after it.
    example: async (begin) => {
      const around = Array.from({ length: LOOKS }, (_, i) => i + 1)
      const epochs = [...around.map((i) => begin - i), ...around.map((i) => begin + i)]
      for (const epoch of epochs.filter((one) => one >= 0 && one < days.epochs)) {
        const { files } = await findPass(config, days.at(epoch))
        if (files.length > 0) return files
      }
      return undefined
    },
  }
}

/** Passes that are looked at for an example of the data. */
const LOOKS = 100

export const noData = ({ runner }: JobConfig) =>
  new UserError('runner.train_data_dir: there is no data of a day to train on', {
    code: 'ONLINE_NO_DATA',
    where: { file: [runner.train_data_dir].flat()[0] ?? '' },
    hint: 'data lie in <train_data_dir>/<day>/<HHMM>/, such as data/20190720/0030/part-0; see docs/guide/online-training.md',
  })
