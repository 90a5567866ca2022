/** @file Applies the fixes that a config error prints, reading nothing but its text, as an editor plug-in would. */

/** What `oarfish check` was given. */
export interface Input {
  readonly path: string
  readonly text: string
  readonly overrides: readonly string[]
}

interface LineChange {
  readonly first: number
  /** Lines taken out from `first` on; 0 = insertion before `first`. */
  readonly remove: number
  readonly lines: readonly string[]
}

/** The input with every printed fix applied; of two that touch one line, the first. */
export function applyPrintedFixes(message: string, input: Input): Input {
  const printed = message.split('\n')
  const changes: LineChange[] = []
  let { path, overrides } = input
  let argument = ''
  printed.forEach((line, i) => {
    argument = /^-o (.*?): (?:expected|unknown|missing|this|heter|federated|no such|need)/.exec(line)?.[1] ?? argument
    const fix = /^ {2}fix: (.*)$/.exec(line)?.[1]
    if (fix === undefined) return
    const swap = /^write -o (.*)$/.exec(fix)
    const other = /^write -m (.*)$/.exec(fix)
    const dropped = /^leave out -o (.*)$/.exec(fix)
    if (other) path = other[1]!
    else if (dropped) overrides = overrides.filter((override) => override !== dropped[1])
    else if (swap) overrides = overrides.map((override) => (override === argument ? swap[1]! : override))
    else changes.push(...lineChange(fix, printed.slice(i + 1)))
  })
  return { path, overrides, text: changes.length === 0 ? input.text : changeLines(input.text, changes) }
}

function lineChange(fix: string, following: readonly string[]): LineChange[] {
  const body = following.slice(
    0,
    following.findIndex((line) => !/^ +\d+ \| /.test(`${line} `)),
  )
  const lines = body.map((line) => line.replace(/^ +\d+ \| ?/, ''))
  const range = /^(replace|remove) lines? (\d+)(?:-(\d+))?/.exec(fix)
  if (range) {
    const first = Number(range[2])
    return [{ first, remove: Number(range[3] ?? first) - first + 1, lines: range[1] === 'remove' ? [] : lines }]
  }
  const after = /^insert after line (\d+):$/.exec(fix)?.[1] ?? (fix === 'insert at the top:' ? '0' : undefined)
  return after === undefined ? [] : [{ first: Number(after) + 1, remove: 0, lines }]
}

function changeLines(text: string, changes: readonly LineChange[]): string {
  const lines = text.split('\n')
  const free = changes.filter((change, i) => changes.findIndex((other) => overlap(other, change)) === i)
  for (const { first, remove, lines: inserted } of free.sort((a, b) => b.first - a.first || b.remove - a.remove)) {
    lines.splice(first - 1, remove, ...inserted)
  }
  return lines.join('\n')
}

const overlap = (a: LineChange, b: LineChange) =>
  a === b || (a.first < b.first + b.remove && b.first < a.first + a.remove)
