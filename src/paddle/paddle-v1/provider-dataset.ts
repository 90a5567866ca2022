/** @file A data provider as a reader thread sees it: loads the configuration there, gives the provider's samples as slots. */

import { isUserError, UserError } from '../../base/util/index.ts'
import type { RecDatasetClass, Sample } from '../../data/index.ts'
import { providerError } from './errors.ts'
import { runConfig } from './run-config.ts'
import { sampleReader, typedInputs } from './samples.ts'

/** What a reader thread needs. */
export interface ProviderReader {
  readonly config: string
  readonly configArgs: string
}

export async function openDataset({ config: path, configArgs }: ProviderReader): Promise<RecDatasetClass> {
  const config = await runConfig(path, configArgs)
  const { sources } = config
  if (!sources)
    throw providerError('The configuration names no data.', 'Call defineDataSources(trainList, testList, provider).')
  const { inputTypes, samples } = sources.provider.open(sources.args)
  const read = sampleReader(typedInputs([...config.data.values()], inputTypes))
  return class {
    readonly #files: readonly string[]

    constructor(files: readonly string[]) {
      this.#files = files
    }

    async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
      for (const file of this.#files) {
        let count = 0
        try {
          for await (const sample of samples(file)) {
            count++
            yield read(sample)
          }
        } catch (error) {
          throw failedAt(file, count, error)
        }
      }
    }
  }
}

/** The provider's own error with its stack, or what is wrong with a sample, and where that was. */
function failedAt(file: string, sample: number, error: unknown): UserError {
  const place = sample === 0 ? 'before its first sample' : `at sample ${sample}`
  const what = isUserError(error) || !(error instanceof Error) ? String((error as Error).message) : error.stack
  const { code, hint } = isUserError(error) ? error : { code: 'TRAINER_PROVIDER', hint: undefined }
  return new UserError(`The data provider failed ${place}: ${what}`, { code, where: { file }, hint, cause: error })
}
