/** @file `fluid.DatasetFactory`: datasets by name. */
import { type Dataset, datasetError } from './dataset.ts'
import { InMemoryDataset } from './in-memory-dataset.ts'
import { QueueDataset } from './queue-dataset.ts'

const CLASSES: Readonly<Record<string, new () => Dataset>> = { QueueDataset, InMemoryDataset }

export type DatasetName = 'QueueDataset' | 'InMemoryDataset'
interface DatasetOf {
  readonly QueueDataset: QueueDataset
  readonly InMemoryDataset: InMemoryDataset
}

export class DatasetFactory {
  createDataset<Name extends DatasetName = 'QueueDataset'>(name: Name = 'QueueDataset' as Name): DatasetOf[Name] {
    const Class = CLASSES[name]
    if (!Class)
      throw datasetError(`datafeed class ${name} does not exist`, `use one of ${Object.keys(CLASSES).join(', ')}`)
    return new Class() as DatasetOf[Name]
  }
}
