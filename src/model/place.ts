/** @file Lines of a user's model file: where a field or an export stands. */
import { readFileSync } from 'node:fs'
import { shown, type Where } from '../base/util/index.ts'

/** The line of a field of the object that begins at `place`; the place itself where it is not found. */
export function placeOfField(place: Where | undefined, name: string): Where | undefined {
  if (!place) return undefined
  const word = name.replaceAll(/[^\w$]/g, '\\$&')
  const lines = linesOf(place.file).map((text, i) => ({ text, line: i + 1 }))
  const field = new RegExp(`(^|[{,]|\\basync)\\s*['"]?${word}['"]?\\s*[:(,}]`)
  const found = lines.filter(({ text, line }) => line >= (place.line ?? 1) && field.test(text))
  // A hyper-parameter of the same name stands deeper.
  const [outermost] = found.toSorted((a, b) => indent(a.text) - indent(b.text))
  return { file: shown(place.file), line: outermost?.line ?? place.line }
}

/** The line of the first match in a file; the file alone where there is none. */
export function placeOfText(file: string, pattern: RegExp): Where {
  const index = linesOf(file).findIndex((line) => pattern.test(line))
  return { file: shown(file), line: index < 0 ? undefined : index + 1 }
}

const indent = (line: string) => line.length - line.trimStart().length

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return [] // a file that is not there any more has no lines
  }
}
