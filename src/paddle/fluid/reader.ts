/** @file `fluid.reader`: readers are functions that give samples anew each time they are called. */
import { createRng, deriveSeed } from '../../base/util/index.ts'

/** A pass over samples. */
export type Reader<Sample> = () => Iterable<Sample>

/** A reader of batches; a last, smaller one is kept unless `dropLast`. */
export function batch<Sample>(
  reader: Reader<Sample>,
  { batchSize, dropLast = false }: { readonly batchSize: number; readonly dropLast?: boolean },
): Reader<Sample[]> {
  return function* () {
    let samples: Sample[] = []
    for (const sample of reader()) {
      samples.push(sample)
      if (samples.length < batchSize) continue
      yield samples
      samples = []
    }
    if (samples.length > 0 && !dropLast) yield samples
  }
}

/** Mixes `bufSize` samples at a time, in another order at each pass; the same seed gives the same orders. */
export function shuffle<Sample>(
  reader: Reader<Sample>,
  { bufSize, seed = 0 }: { readonly bufSize: number; readonly seed?: number },
): Reader<Sample> {
  let pass = 0
  return function* () {
    const rng = createRng(deriveSeed(seed, `reader.shuffle ${pass++}`))
    let buffer: Sample[] = []
    const mixed = () => {
      for (let i = buffer.length - 1; i > 0; i--) {
        const j = Math.floor(rng.uniform() * (i + 1))
        const [a, b] = [buffer[i]!, buffer[j]!]
        buffer[i] = b
        buffer[j] = a
      }
      const samples = buffer
      buffer = []
      return samples
    }
    for (const sample of reader()) {
      buffer.push(sample)
      if (buffer.length >= bufSize) yield* mixed()
    }
    yield* mixed()
  }
}
