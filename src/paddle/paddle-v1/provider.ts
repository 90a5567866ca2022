/** @file Data providers: a user's generator of samples, file by file, and what it yields for each input, with the original's names. */
import { providerError } from './errors.ts'

/** What an input of a sample holds. */
export type InputType =
  /** An id below `dim`; a sequence is a list of ids. */
  | { readonly kind: 'integer'; readonly dim: number; readonly sequence: boolean }
  /** `dim` numbers; for a dim of 1 a number will do. */
  | { readonly kind: 'dense'; readonly dim: number }
  /** The places of the ones among `dim` zeros. */
  | { readonly kind: 'sparse_binary'; readonly dim: number }
  /** [place, value] of what is not zero. */
  | { readonly kind: 'sparse_float'; readonly dim: number }

/** Input of one id below `dim`. */
export const integerValue = (dim: number): InputType => ({ kind: 'integer', dim, sequence: false })
/** Input of a sequence of ids below `dim`. */
export const integerValueSequence = (dim: number): InputType => ({ kind: 'integer', dim, sequence: true })
/** Input of `dim` numbers. */
export const denseVector = (dim: number): InputType => ({ kind: 'dense', dim })
/** Input of the ids that are set, below `dim`. */
export const sparseBinaryVector = (dim: number): InputType => ({ kind: 'sparse_binary', dim })
/** Input of ids below `dim`, each with a number. */
export const sparseFloatVector = (dim: number): InputType => ({ kind: 'sparse_float', dim })

export function inputTypeText(type: InputType): string {
  const names = {
    dense: 'denseVector',
    sparse_binary: 'sparseBinaryVector',
    sparse_float: 'sparseFloatVector',
  } as const
  const name = type.kind === 'integer' ? (type.sequence ? 'integerValueSequence' : 'integerValue') : names[type.kind]
  return `${name}(${type.dim})`
}

/** Values of Cache, under Paddle’s names. */
export const CacheType = { NO_CACHE: 'no_cache', CACHE_PASS_IN_MEM: 'cache_pass_in_mem' } as const
/** Whether samples are kept between passes. */
export type Cache = (typeof CacheType)[keyof typeof CacheType]

/** By the names of data layers, or in their order. */
export type InputTypes = readonly InputType[] | Readonly<Record<string, InputType>>

/** What init fills and the generator is given; `Own` is whatever else init keeps there. */
export type ProviderSettings<Own extends object = object> = Own & { inputTypes: InputTypes }

/** A sample: values by the names of data layers, or in the order of the types. */
export type ProvidedSample = Readonly<Record<string, unknown>> | readonly unknown[]
export type Samples = Iterable<ProvidedSample> | AsyncIterable<ProvidedSample>

/** Options of provider. */
export interface ProviderOptions<Own extends object, Args> {
  /** Called once in every thread that reads: declares `settings.inputTypes`, keeps what the generator needs. */
  readonly init?: (settings: ProviderSettings<Own>, args: Args) => void
  /** Where they do not depend on the arguments. */
  readonly inputTypes?: InputTypes
  /** CACHE_PASS_IN_MEM reads files in the first pass alone. @default NO_CACHE: they are read in every pass */
  readonly cache?: Cache
  /** Training samples come in a new order in every pass. @default true */
  readonly shouldShuffle?: boolean
}

/** Reads samples from files; made by `provider`. */
export interface DataProvider {
  readonly kind: 'provider'
  readonly cache: Cache
  readonly shouldShuffle: boolean
  /** Calls init; returns the types and the samples of a file. */
  open(args: unknown): { readonly inputTypes: InputTypes; samples(file: string): Samples }
}

/**
 * A data provider of a generator: `provider({ init, cache })(function* (settings, fileName) { yield { ... } })`.
 * It runs in reader threads, each of which loads trainer_config.ts.
 */
export function provider<Own extends object = object, Args = unknown>(
  options: ProviderOptions<Own, Args>,
): (process: (settings: ProviderSettings<Own>, fileName: string) => Samples) => DataProvider {
  const { init, inputTypes = [], cache = CacheType.NO_CACHE, shouldShuffle = true } = options
  if (!Object.values(CacheType).includes(cache))
    throw providerError(
      `provider: cache is "${String(cache)}", which is none.`,
      'Write cache: CacheType.CACHE_PASS_IN_MEM or CacheType.NO_CACHE.',
    )
  return (process) => {
    if (typeof process !== 'function')
      throw providerError(
        'provider: the generator is missing.',
        'export const process = provider({ init })(function* (settings, fileName) { yield { ... } })',
      )
    return {
      kind: 'provider',
      cache,
      shouldShuffle,
      open: (args) => {
        const settings = { inputTypes } as ProviderSettings<Own>
        init?.(settings, args as Args)
        return { inputTypes: settings.inputTypes, samples: (file) => process(settings, file) }
      },
    }
  }
}

export function isProvider(found: unknown): found is DataProvider {
  return typeof found === 'object' && found !== null && (found as Partial<DataProvider>).kind === 'provider'
}
