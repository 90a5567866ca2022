/** @file What several workers have measured, added up. */
import { addAuc, emptyAuc } from '../metric/index.ts'
import type { MeterState } from '../snapshot/index.ts'

/** A meter as JSON; histograms as plain lists. */
export type PlainMeter = Omit<MeterState, 'histograms'> & { readonly histograms: Readonly<Record<string, number[]>> }

export function plainMeter({ histograms, ...rest }: MeterState): PlainMeter {
  return {
    ...rest,
    histograms: Object.fromEntries(Object.entries(histograms).map(([name, counts]) => [name, [...counts]])),
  }
}

/** Samples, sums and histograms of all; the time of the slowest. */
export function mergeMeters(meters: readonly PlainMeter[]): MeterState {
  const sums: Record<string, number> = {}
  const histograms: Record<string, Float64Array> = {}
  for (const meter of meters) {
    for (const [name, sum] of Object.entries(meter.sums)) sums[name] = (sums[name] ?? 0) + sum
    for (const [name, counts] of Object.entries(meter.histograms)) {
      histograms[name] ??= emptyAuc()
      addAuc(histograms[name], Float64Array.from(counts))
    }
  }
  return {
    samples: meters.reduce((sum, { samples }) => sum + samples, 0),
    batches: meters.reduce((sum, { batches }) => sum + batches, 0),
    seconds: Math.max(...meters.map(({ seconds }) => seconds)),
    sums,
    histograms,
  }
}
