/** @file Whether a Python reader gives its samples file by file, seen in its text: several processes may then read, each some of the files. */

/**
 * True only where it is plain to see: one loop over the files, in `__iter__` or `dataloader`, gives all samples, keeps nothing from one file to the next, and no other method looks into the files. Anything else
 * is given all its files at once, as PaddleRec does, which is right for every reader.
 */
export function readsFileByFile(text: string, className?: string | undefined): boolean {
  const lines = codeLines(text)
  const names = [className, 'RecDataset', 'Reader', 'TrainReader'].filter((name) => name !== undefined)
  const body = names.map((name) => blockOf(lines, new RegExp(`^class\\s+${name}\\b`))).find((found) => found.length > 0)
  if (!body) return false
  const methods = methodsOf(body)
  const giving = methods.get('__iter__') ?? methods.get('dataloader')
  // A reader of lines is asked for one line after the other.
  if (!giving) return methods.has('generate_sample')
  const others = [...methods.entries()].filter(([, own]) => own !== giving).flatMap(([, own]) => own)
  return !others.some(({ code }) => LOOKS_INTO_FILES.test(code)) && givesInOneLoop(giving)
}

interface Line {
  readonly indent: number
  readonly code: string
}

const FILES = String.raw`(?:self\.)?_?file_?list`
const LOOP = new RegExp(String.raw`^for\s+\w+\s+in\s+${FILES}\s*:`, 'i')
/** Iterates over the files, takes one of them, or hands them to somebody else. */
const LOOKS_INTO_FILES = new RegExp(
  String.raw`\bin\s+${FILES}\b|\b${FILES}\[\s*-?\d+\s*\]|\b(?!len\b|append\b|__init__\b|init\b)\w+\([^)]*\b${FILES}\b|\b${FILES}\.(sort|pop)`,
  'i',
)
/** Something of the dataset's own that grows from sample to sample. */
const GROWS = /\bself\.\w+\s*(\+=|-=)|\bself\.\w+\.(append|extend|add|update|insert|pop)\(/

function givesInOneLoop(method: readonly Line[]): boolean {
  const at = method.findIndex(({ code }) => LOOP.test(code))
  const loops = method.filter(({ code }) => LOOKS_INTO_FILES.test(code)).length
  if (at < 0 || loops !== 1) return false
  const end = method.findIndex(({ indent }, i) => i > at && indent <= method[at]!.indent)
  const [before, inside] = [method.slice(0, at), method.slice(at + 1, end < 0 ? undefined : end)]
  const after = end < 0 ? [] : method.slice(end)
  const gives = ({ code }: Line) => /\byield\b/.test(code)
  if (!inside.some(gives) || before.some(gives) || after.some(({ code }) => !/^return\b/.test(code))) return false
  const kept = before.flatMap(({ code }) => /^([A-Za-z_]\w*)\s*=[^=]/.exec(code)?.[1] ?? [])
  const uses = (name: string) => inside.some(({ code }) => new RegExp(`(?<![.\\w])${name}\\b`).test(code))
  return !kept.some(uses) && !inside.some(({ code }) => GROWS.test(code))
}

/** Lines with code, without comments. A text in three quotes that looks like code can only make the answer no. */
function codeLines(text: string): readonly Line[] {
  return text.split('\n').flatMap((line) => {
    const code = line.replace(/#(?=(?:[^"']*["'][^"']*["'])*[^"']*$).*$/, '').trimEnd()
    const indent = code.length - code.trimStart().length
    return code.trim() === '' ? [] : [{ indent, code: code.trim() }]
  })
}

/** What stands below the first line of that kind. */
function blockOf(lines: readonly Line[], start: RegExp): readonly Line[] {
  const at = lines.findIndex(({ code }) => start.test(code))
  if (at < 0) return []
  const end = lines.findIndex(({ indent }, i) => i > at && indent <= lines[at]!.indent)
  return lines.slice(at + 1, end < 0 ? undefined : end)
}

function methodsOf(body: readonly Line[]): ReadonlyMap<string, readonly Line[]> {
  const depth = body[0]?.indent
  const names = body.flatMap(({ indent, code }) => (indent === depth ? (/^def\s+(\w+)/.exec(code)?.[1] ?? []) : []))
  return new Map(names.map((name) => [name, blockOf(body, new RegExp(`^def\\s+${name}\\b`))]))
}
