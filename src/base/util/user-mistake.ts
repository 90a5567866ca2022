/** @file What a user's code threw, told by its own file, line and call; lines of this package in a stack say nothing to a user and are left out. */
import { readFileSync } from 'node:fs'
import { isUserError, UserError, type Where } from './errors.ts'
import { frameOf, isUsers, shown, userPlace } from './user-code.ts'

/** What `file` threw while it was loaded or run, as what the user reads; `what` is said where no line is known: "failed". */
export function userMistake(error: unknown, file: string, what: string): UserError {
  if (isUserError(error)) return error.where ? error : located(error)
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const syntax = placeOfParseError(stack)
  if (syntax)
    return new UserError(syntax.message, {
      code: 'MODEL_FAILED',
      where: syntax.where,
      hint: 'Mend it there.',
      cause: error,
    })
  const place = userPlace(stack)
  if (!place || !(error instanceof Error))
    return new UserError(`${shown(file)} ${what}: ${withoutOwnLines(stack)}`, { code: 'MODEL_FAILED', cause: error })
  const where = { file: shown(place.file), line: place.line }
  const inside = calledFrom(stack)
  if (error instanceof TypeError && inside !== undefined)
    return new UserError(`${callAt(place, inside)}an argument is not what it takes (${error.message})`, {
      code: 'MODEL_ARGUMENT',
      where,
      hint: 'Look at what is given there: a name without a value is undefined, and a slot becomes a tensor by nn.embedding.',
      cause: error,
    })
  return new UserError(`${what}: ${withoutOwnLines(stack)}`, {
    code: 'MODEL_FAILED',
    where,
    hint: hintFor(error),
    cause: error,
  })
}

/** An error of this package that a call in a user's file led to. */
function located(error: UserError): UserError {
  const place = userPlace(error.stack)
  if (!place) return error
  const { code, hint, cause } = error
  const inside = calledFrom(error.stack!)
  const call = callAt(place, inside ?? '')
  // "concat(...): concat(float32[B, 16], ...)" would say it twice.
  const [name] = /[\w$]+(?=\(\.\.\.\): $)/.exec(call) ?? []
  const message = name !== undefined && error.message.startsWith(`${name}(`) ? error.message : `${call}${error.message}`
  return new UserError(message, { code, hint, cause, where: { file: shown(place.file), line: place.line } })
}

/** The function of this package that the user's innermost line called; undefined where that line itself threw. */
function calledFrom(stack: string): string | undefined {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  const user = frames.findIndex((frame) => isUserFrame(frame))
  if (user <= 0) return undefined
  const [, name = ''] = /^\s+at (?:async )?(?:[\w$]+\.)?([\w$]+) /.exec(frames[user - 1]!) ?? []
  return name.replace(/\$\d+$/, '')
}

/** `nn.linear(...): `, as it is written on the line; empty where several calls stand there and none has the name. */
function callAt({ file, line }: Where, name: string): string {
  const text = lineOf(file, line!)
  const calls = [...text.matchAll(/(?<![\w$.])(?:[A-Za-z_$][\w$]*\.)*([A-Za-z_$][\w$]*)(?=\()/g)]
  const named = calls.find(([, last]) => last === name) ?? (calls.length === 1 ? calls[0] : undefined)
  return named ? `${named[0]}(...): ` : ''
}

function lineOf(file: string, line: number): string {
  try {
    return readFileSync(file, 'utf8').split('\n')[line - 1] ?? ''
  } catch {
    return '' // it was there when it was loaded
  }
}

const isUserFrame = (frame: string): boolean => {
  const file = frameOf(frame)?.file
  return file !== undefined && isUsers(file)
}

/** The message with the stack's lines of the user's files. */
export function withoutOwnLines(stack: string): string {
  const lines = stack.split('\n').filter((line) => !/^\s+at /.test(line) || isUserFrame(line))
  return lines.join('\n').replaceAll(/\(0 , _[\w$]+\.([\w$]+)\)/g, '$1')
}

/** jiti puts the place of what it cannot parse into the message. */
function placeOfParseError(stack: string): { message: string; where: Where } | undefined {
  const [, text, file, line, column] = /ParseError: (.+?)\s*\n\s*(\S.*?):(\d+):(\d+)/.exec(stack) ?? []
  if (file === undefined) return undefined
  return {
    message: `this is no TypeScript: ${text}`,
    where: { file: shown(file), line: Number(line), column: Number(column) },
  }
}

function hintFor(error: Error): string {
  if (/Cannot find (module|package)/.test(error.message))
    return 'Write the path of a file beside this one (./layers.ts), or install the package in this project.'
  if (/is not a function/.test(error.message))
    return 'What is called there is no function: check its name and its import.'
  return 'It is thrown by this line of your own file.'
}

/** Runs code of the user's `file`; what it throws becomes a UserError with the user's own file, line and call. */
export async function runUserCode<T>(file: string, what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw userMistake(error, file, what)
  }
}
