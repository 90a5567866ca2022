/** @file The arguments of the programs in this folder. */
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { parseArgs as parse } from 'node:util'

export interface Args {
  /** Values of each sparse slot are hashed into so many ids. */
  readonly sparseFeatureDim: number
  readonly embeddingSize: number
  readonly modelOutputDir: string
  readonly rawData: string
  readonly epochs: number
  readonly batchSize: number
  readonly threadNum: number
  /** How raw lines become MultiSlot text; python criteo_reader.py does the same. */
  readonly reader: string
}

const OPTIONS = {
  sparse_feature_dim: { type: 'string', default: '1000001' },
  embedding_size: { type: 'string', default: '10' },
  model_output_dir: { type: 'string', default: 'models' },
  raw_data: { type: 'string', default: 'raw_data' },
  epochs: { type: 'string', default: '20' },
  batch_size: { type: 'string', default: '100' },
  thread_num: { type: 'string', default: '10' },
  reader: { type: 'string', default: 'oarfish exec criteo_reader.ts' },
} as const

export function parseArgs(): Args {
  return common(parse({ options: OPTIONS }).values)
}

/** Those of train.ts: who this process is, besides. */
export interface TrainArgs extends Args {
  /** Trains alone. */
  readonly isLocal: boolean
  /** Role, servers and number stand in the environment of a pod, not below. */
  readonly cloudTrain: boolean
  /** Servers apply each gradient as it comes; otherwise trainers make every step together. */
  readonly asyncMode: boolean
  readonly role: string
  readonly endpoints: string
  readonly currentEndpoint: string
  readonly trainerId: number
  readonly trainers: number
}

/** Where the pods of a cluster have their data, and put their models. */
const POD_DATA = '/mnt/seqdata'

export function parseTrainArgs({ env } = process): TrainArgs {
  const { values } = parse({
    options: {
      ...OPTIONS,
      raw_data: { type: 'string', default: hasFiles(POD_DATA) ? POD_DATA : 'raw_data' },
      model_output_dir: { type: 'string', default: isWritable(POD_DATA) ? `${POD_DATA}/models` : 'models' },
      epochs: { type: 'string', default: '10' },
      thread_num: { type: 'string', default: env['CPU_NUM'] || '1' },
      is_local: { type: 'string', default: '1' },
      cloud_train: { type: 'string', default: '0' },
      async_mode: { type: 'boolean', default: false },
      role: { type: 'string', default: 'pserver' },
      endpoints: { type: 'string', default: '127.0.0.1:6000' },
      current_endpoint: { type: 'string', default: '127.0.0.1:6000' },
      trainer_id: { type: 'string', default: '0' },
      trainers: { type: 'string', default: '1' },
    },
  })
  return {
    ...common(values),
    isLocal: values.is_local !== '0',
    cloudTrain: values.cloud_train !== '0',
    asyncMode: values.async_mode,
    role: values.role,
    endpoints: values.endpoints,
    currentEndpoint: values.current_endpoint,
    trainerId: Number(values.trainer_id),
    trainers: Number(values.trainers),
  }
}

function common(values: Record<keyof typeof OPTIONS, string>): Args {
  return {
    sparseFeatureDim: Number(values.sparse_feature_dim),
    embeddingSize: Number(values.embedding_size),
    modelOutputDir: values.model_output_dir,
    rawData: values.raw_data,
    epochs: Number(values.epochs),
    batchSize: Number(values.batch_size),
    threadNum: Number(values.thread_num),
    reader: values.reader,
  }
}

function hasFiles(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder, { withFileTypes: true }).some((entry) => entry.isFile())
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
