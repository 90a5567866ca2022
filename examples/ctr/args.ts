/** @file The arguments of the programs in this folder. */
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

export function parseArgs(): Args {
  const { values } = parse({
    options: {
      sparse_feature_dim: { type: 'string', default: '1000001' },
      embedding_size: { type: 'string', default: '10' },
      model_output_dir: { type: 'string', default: 'models' },
      raw_data: { type: 'string', default: 'raw_data' },
      epochs: { type: 'string', default: '20' },
      batch_size: { type: 'string', default: '100' },
      thread_num: { type: 'string', default: '10' },
      reader: { type: 'string', default: 'oarfish exec criteo_reader.ts' },
    },
  })
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
