/** @file Streams: a topic of Kafka, or a folder that grows, in passes by time or count. */
import type { JobConfig } from '../../../base/config/index.ts'
import { processEnv } from '../../../base/env/index.ts'
import type { EventSink } from '../../../base/event/index.ts'
import { lastModel } from '../donefiles.ts'
import { firstPass } from '../online-checkpoints.ts'
import { isKafka, parseKafka } from './address.ts'
import { StreamArrivals } from './arrivals.ts'
import { watchFolder } from './folder-source.ts'
import { StreamDays } from './stream-days.ts'

const pathsOf = ({ runner }: Pick<JobConfig, 'runner'>) => [runner.train_data_dir ?? []].flat()

export const isStream = (config: Pick<JobConfig, 'runner'>): boolean =>
  config.runner.watch || pathsOf(config).some(isKafka)

/** What of a config does not go with a stream; undefined: nothing. */
export function streamProblem({ runner }: Pick<JobConfig, 'runner'>): string | undefined {
  if (!isStream({ runner })) return undefined
  const paths = pathsOf({ runner })
  if (runner.model_save_path === '') return 'runner.model_save_path is missing: places in the stream are kept there'
  if (paths.some(isKafka) && paths.length > 1) return 'runner.train_data_dir: a job reads one topic'
  if (paths.some(isKafka) && runner.watch) return 'runner.watch: true is for folders; a topic is a stream without it'
  return undefined
}

/** Passes, their data, and the one to begin with. */
export function streamComingIn(config: JobConfig, emit: EventSink) {
  const paths = pathsOf(config)
  if (config.runner.start_day !== undefined)
    emit({
      kind: 'notice',
      message: 'runner.start_day and end_day have no effect on a stream: a pass is of the day (UTC) on which it is cut',
    })
  const address = paths.find(isKafka)
  const kafka = address === undefined ? undefined : parseKafka(address)
  const open = async () => {
    if (!kafka) return watchFolder(paths)
    const { openKafka } = await import('./kafka-source.ts')
    return await openKafka(kafka, processEnv())
  }
  const days = new StreamDays(() => new Date().toISOString().slice(0, 10).replaceAll('-', ''))
  const arrivals = new StreamArrivals({ config, days, emit, open })
  const first = async () => {
    await arrivals.open()
    return firstPass(days, await lastModel(config.runner.model_save_path))
  }
  return { days, arrivals, first }
}
