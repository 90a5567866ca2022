/** @file Data providers: a user's generator of samples, file by file, and what it says about them. */
import { providerError } from './errors.ts'
import type { InputType } from './input-types.ts'

export const CacheType = { NO_CACHE: 'no_cache', CACHE_PASS_IN_MEM: 'cache_pass_in_mem' } as const
export type Cache = (typeof CacheType)[keyof typeof CacheType]

/** By the names of data layers, or in their order. */
export type InputTypes = readonly InputType[] | Readonly<Record<string, InputType>>

/** What init fills and the generator is given; `Own` is whatever else init keeps there. */
export type ProviderSettings<Own extends object = object> = Own & { inputTypes: InputTypes }

/** A sample: values by the names of data layers, or in the order of the types. */
export type ProvidedSample = Readonly<Record<string, unknown>> | readonly unknown[]
export type Samples = Iterable<ProvidedSample> | AsyncIterable<ProvidedSample>

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
