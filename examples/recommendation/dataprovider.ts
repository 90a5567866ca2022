/** @file Reads lines user::movie::score::time; scores from 1 to 5 become -3 to 5, the range of five times a cosine. */

import { readFileSync } from 'node:fs'
import { CacheType, provider } from 'oarfish/trainer'
import { inputTypesOf, type Meta, valuesOf } from './common_utils.ts'

interface Args {
  readonly meta: Meta
}

export const process = provider<{ meta: Meta }, Args>({
  init(settings, { meta }) {
    settings.meta = meta
    settings.inputTypes = inputTypesOf(meta)
  },
  cache: CacheType.CACHE_PASS_IN_MEM,
})(function* ({ meta }, fileName) {
  for (const line of readFileSync(fileName, 'utf8').split('\n')) {
    if (line === '') continue
    const [user, movie, score] = line.split('::') as [string, string, string]
    yield { ...valuesOf(meta.movie, movie), ...valuesOf(meta.user, user), rating: 2 * Number(score) - 5 }
  }
})
