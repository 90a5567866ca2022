/** @file "Did you mean": the nearest known name to a mistyped one. */

/** The nearest of `known` within a third of its length in edits, or undefined. */
export function suggest(typed: string, known: Iterable<string>): string | undefined {
  const lower = typed.toLowerCase()
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const name of known) {
    const most = Math.max(1, Math.ceil(Math.max(typed.length, name.length) / 3))
    const other = name.toLowerCase()
    // No fewer edits than one is longer than the other: of most names that is all there is to ask.
    if (Math.abs(lower.length - other.length) > Math.min(most, bestDistance - 1)) continue
    const distance = editDistance(lower, other)
    if (distance < bestDistance && distance <= most) [best, bestDistance] = [name, distance]
  }
  return best
}

/** No name is longer; of what is, nothing is near to it but itself. */
const LONG_NAME = 300
/** The row that is filled, and the two before it. */
let [now, above, twoAbove] = Array.from({ length: 3 }, () => new Uint16Array(LONG_NAME + 1)) as [
  Uint16Array,
  Uint16Array,
  Uint16Array,
]

/** Levenshtein distance where swapping two neighbours counts as one edit. */
export function editDistance(a: string, b: string): number {
  const longest = Math.max(a.length, b.length)
  if (longest > LONG_NAME) return a === b ? 0 : longest
  for (let j = 0; j <= b.length; j++) now[j] = j
  for (let i = 1; i <= a.length; i++) {
    ;[now, above, twoAbove] = [twoAbove, now, above]
    now[0] = i
    const [code, before] = [a.charCodeAt(i - 1), a.charCodeAt(i - 2)]
    for (let j = 1; j <= b.length; j++) {
      const other = b.charCodeAt(j - 1)
      let best = Math.min(above[j]! + 1, now[j - 1]! + 1, above[j - 1]! + (code === other ? 0 : 1))
      if (i > 1 && j > 1 && code === b.charCodeAt(j - 2) && before === other)
        best = Math.min(best, twoAbove[j - 2]! + 1)
      now[j] = best
    }
  }
  return now[b.length]!
}
