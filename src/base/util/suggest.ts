/** @file "Did you mean": the nearest known name to a mistyped one. */

/** The nearest of `known` within a third of its length in edits, or undefined. */
export function suggest(typed: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const name of known) {
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase())
    if (distance < bestDistance && distance <= Math.max(1, Math.ceil(Math.max(typed.length, name.length) / 3))) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** No name is longer; of what is, nothing is near to it but itself. */
const LONG_NAME = 300

/** Levenshtein distance where swapping two neighbours counts as one edit. */
export function editDistance(a: string, b: string): number {
  const longest = Math.max(a.length, b.length)
  if (longest > LONG_NAME) return a === b ? 0 : longest
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i, ...new Array<number>(b.length).fill(0)])
  for (let j = 0; j <= b.length; j++) rows[0]![j] = j
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, rows[i - 1]![j - 1]! + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1)
      rows[i]![j] = best
    }
  }
  return rows[a.length]![b.length]!
}
