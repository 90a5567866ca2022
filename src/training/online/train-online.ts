/** @file Online training: the one training loop over passes of days or of a stream, from where the donefile says. */
import type { JobConfig, LoadedConfig } from '../../base/config/index.ts'
import { isWritten } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { setFileAccess } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'
import { programHash } from '../../graph/program/index.ts'
import type { TracedModel } from '../../model/index.ts'
import {
  alone,
  type EpochSchedule,
  type JobCheckpoints,
  type TrainingContext,
  type TrainingJob,
  type TrainOptions,
  type TrainResult,
  train,
} from '../driver/index.ts'
import { splitArrivals } from './arrivals.ts'
import { daysOf } from './days.ts'
import { DensePublishing } from './dense-publishing.ts'
import { lastModel } from './donefiles.ts'
import { firstPass, onlineCheckpoints } from './online-checkpoints.ts'
import { onlineSchedule } from './online-schedule.ts'
import { metricText, passMetrics } from './pass-metrics.ts'
import { openPublisher } from './publisher.ts'
import { isStream, streamComingIn, streamProblem } from './stream/index.ts'

/** Whether a config trains what comes in: day by day, or from a stream. */
export const isOnline = (config: Pick<JobConfig, 'runner'>): boolean =>
  config.runner.start_day !== undefined || isStream(config)

export interface OnlineProcess {
  /** Of all that train together, the one that reads donefiles and saves. @default true */
  readonly isFirst?: boolean | undefined
  /** Of a job of several processes. */
  readonly job?: string | undefined
}

/** Trains every day from runner.start_day on; goes on where an earlier run ended. */
export async function trainOnline(
  options: TrainOptions,
  openJob?: (context: TrainingContext) => TrainingJob,
  { isFirst = true, job }: OnlineProcess = {},
): Promise<TrainResult> {
  const loaded = onlineConfig(options.config)
  const { config } = loaded
  refuse(config, options)
  const { days, arrivals, first } = comingIn(config, options.emit)
  const stop = options.signal ?? new AbortController().signal
  const { emit } = options
  let traced: TracedModel | undefined
  const model = () => traced!
  const shared = { config, days, emit, model }
  let example: readonly string[] = []
  const schedule = onlineSchedule({
    ...shared,
    arrivals,
    signal: stop,
    // The folder is this job's own before anything is looked for: what a stream gives is noted there.
    first: async () => {
      await checkpoints.prepare()
      return await first()
    },
    onMetrics: passMetrics({ ...shared, isFirst }),
  })
  const publisher = openPublisher({ ...shared, files: () => example })
  const checkpoints = onlineCheckpoints({
    ...shared,
    job,
    publisher,
    program: () => programHash(model().train),
    metricsOf: (trained) => metricText(model(), trained),
  })
  let opened: TrainingJob | undefined
  const dense = new DensePublishing({
    ...{ seconds: config.runner.dense_publish_seconds, publisher, emit, job: () => opened },
  })
  const open = (context: TrainingContext) => {
    opened = closingFirst(dense, (openJob ?? alone)(context))
    return opened
  }
  const rules = {
    ...options.rules,
    checkpoints: besideDense(checkpoints, dense, isFirst),
    schedule: notingFiles(schedule, (files) => {
      example = files
    }),
    onModel: (own: TracedModel) => {
      traced = own
      options.rules?.onModel?.(own)
    },
  }
  try {
    return await train({ ...options, config: loaded, rules }, open)
  } finally {
    await dense.close()
    await arrivals.close?.()
    await checkpoints.close?.()
  }
}

/** The other processes are left in good order: nobody asks them for weights when the job finishes. */
function closingFirst(dense: DensePublishing, job: TrainingJob): TrainingJob {
  const finish = job.finish?.bind(job)
  job.finish = async () => {
    await dense.close()
    await finish?.()
  }
  return job
}

/** Dense weights are published between checkpoints, never while one is saved. */
function besideDense(checkpoints: JobCheckpoints, dense: DensePublishing, isFirst: boolean): JobCheckpoints {
  return {
    ...checkpoints,
    started: async (whole) => {
      await checkpoints.started?.(whole)
      if (isFirst) dense.start(whole.params.dense.steps)
    },
    save: (whole, ...saved) => dense.beside(whole.params.dense.steps, () => checkpoints.save(whole, ...saved)),
  }
}

/** Tells `note` of each pass's files: samples of them go with what is published. */
function notingFiles(schedule: EpochSchedule, note: (files: readonly string[]) => void): EpochSchedule {
  return {
    ...schedule,
    find: async (agree) => {
      const files = await schedule.find(agree)
      note(files.train ?? [])
      return files
    },
    begin: async (epoch, agree) => {
      const begun = await schedule.begin(epoch, agree)
      const files = schedule.filesOf(epoch)
      if (files) note(files)
      return begun
    },
  }
}

/** Passes, their data, and the one to begin with. */
function comingIn(config: JobConfig, emit: EventSink) {
  const { model_save_path: root } = config.runner
  if (isStream(config)) return streamComingIn(config, emit)
  const days = daysOf(config)
  const first = async () => firstPass(days, root === '' ? undefined : await lastModel(root))
  return { days, arrivals: splitArrivals(config, days), first }
}

/** PaddleRec's names of what is called otherwise elsewhere, and its rule that passes in memory are shuffled. */
function onlineConfig(loaded: LoadedConfig): LoadedConfig {
  const { config, source } = loaded
  const { runner } = config
  const written = (key: string) => isWritten(source, ['runner', key])
  const { fs_client, train_thread_num, thread_num, global_shuffle, local_shuffle, reader_type } = runner
  if (fs_client?.uri) {
    const { uri, user, passwd } = fs_client
    setFileAccess({ name: uri, ugi: user === '' ? undefined : `${user},${passwd}` })
  } else setFileAccess({ name: runner.fs_name, ugi: runner.fs_ugi })
  const shuffles = reader_type === 'InmemoryDataset' && !written('global_shuffle') && !local_shuffle
  return {
    ...loaded,
    config: {
      ...config,
      runner: {
        ...runner,
        thread_num: written('train_thread_num') && !written('thread_num') ? train_thread_num : thread_num,
        global_shuffle: shuffles || global_shuffle,
        // The same data judge and train.
        infer_reader_path: runner.train_reader_path,
        infer_reader_type: reader_type,
      },
    },
  }
}

/** What would be without effect, and is not meant to be. */
function refuse({ runner, path }: JobConfig, { mode }: TrainOptions): void {
  const problem =
    mode === 'dygraph'
      ? '--mode dygraph: base and delta models are static graphs'
      : /^(hdfs|afs|s3):/.test(runner.model_save_path)
        ? 'runner.model_save_path: models are saved on this machine or on a file system that is mounted'
        : runner.dense_publish_seconds > 0 && (runner.delta_format === 'paddle' || runner.model_save_path === '')
          ? 'runner.dense_publish_seconds: dense weights are published beside the versions that servers follow, which delta_format: paddle or an empty model_save_path leaves out'
          : streamProblem({ runner })
  if (problem === undefined) return
  throw new UserError(problem, {
    code: 'ONLINE_CONFIG',
    where: { file: path },
    hint: 'see docs/guide/online-training.md; oarfish serve --follow reads a folder that was copied to HDFS or S3 as well',
  })
}
