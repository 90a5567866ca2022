/** @file What a function will read as: lines and blocks, made of what was followed; what was not followed stands as a placeholder. */
import { type PythonFile, quoted, type Statement } from './ast.ts'
import { literal } from './names.ts'
import type { FunctionRecord, Session, Written } from './session.ts'

export type Out =
  | { readonly kind: 'line'; readonly written: Written }
  | { readonly kind: 'comment'; readonly text: string }
  | { readonly kind: 'block'; readonly head: string; readonly loops: readonly string[]; readonly body: readonly Out[] }

const MOST_QUOTED = 12

/** The statements of a body, in TypeScript. */
export function outOf(session: Session, record: FunctionRecord, body: readonly Statement[]): readonly Out[] {
  const out: Out[] = []
  for (const node of body) {
    if (isSilent(node)) continue
    if (!record.visited.has(node)) {
      out.push(...skipped(session, record.file, [node, ...body.slice(body.indexOf(node) + 1)], session.unreached))
      break
    }
    out.push(...statement(session, record, node))
  }
  return out
}

function statement(session: Session, record: FunctionRecord, node: Statement): readonly Out[] {
  const decided = record.decided.get(node)
  const written = record.texts.get(node)
  const isGap = written?.some(({ gap }) => gap)
  if (isGap) return [comment(record.file, node), ...written!.map((own): Out => ({ kind: 'line', written: own }))]
  if (node._ === 'If') {
    if (decided !== undefined) {
      const [taken, left] = decided ? [node.body, node.orelse] : [node.orelse, node.body]
      const isGap = left[0] && session.gaps.has(`${record.file.name}:${left[0].line}`)
      return [...(isGap ? left.map((own) => comment(record.file, own)) : []), ...outOf(session, record, taken)]
    }
    return branches(session, record, node, written?.[0]?.text ?? 'true')
  }
  if (node._ === 'For') return [loop(session, record, node, written?.[0]?.text ?? 'for (;;)')]
  return (written ?? []).map((own): Out => ({ kind: 'line', written: own }))
}

function branches(
  session: Session,
  record: FunctionRecord,
  node: Extract<Statement, { _: 'If' }>,
  test: string,
): readonly Out[] {
  const side = (body: readonly Statement[]) =>
    record.entered.has(body)
      ? outOf(session, record, body)
      : skipped(session, record.file, body, 'a branch that this config does not take')
  const yes: Out = { kind: 'block', head: `if (${test})`, loops: [], body: side(node.body) }
  return node.orelse.length === 0 ? [yes] : [yes, { kind: 'block', head: 'else', loops: [], body: side(node.orelse) }]
}

function loop(session: Session, record: FunctionRecord, node: Extract<Statement, { _: 'For' }>, head: string): Out {
  const body = record.entered.has(node.body)
    ? outOf(session, record, node.body)
    : skipped(session, record.file, node.body, 'a loop that this config does not enter')
  const loops = namesOf(node.target)
  return { kind: 'block', head, loops, body }
}

function namesOf(target: { readonly _: string }): readonly string[] {
  const own = target as { readonly _: string; readonly id?: string; readonly elts?: readonly { readonly _: string }[] }
  return own.id !== undefined ? [own.id] : (own.elts ?? []).flatMap(namesOf)
}

/** Lines that were not followed: quoted, and thrown when they are reached. */
function skipped(session: Session, file: PythonFile, body: readonly Statement[], why: string): readonly Out[] {
  const own = body.filter((node) => !isSilent(node))
  const [first] = own
  if (!first) return []
  session.help('unported')
  session.skipped.set(`${file.name}:${first.line}`, {
    file,
    node: { line: first.line, end: own.at(-1)!.end },
    reason: why,
  })
  return [
    ...quotedLines(file, own),
    { kind: 'line', written: { text: `throw unported<Error>(${literal(`${file.name}:${first.line}: ${why}`)})` } },
  ]
}

/** Statements as they stand in Python. */
export function quotedLines(file: PythonFile, body: readonly Statement[]): readonly Out[] {
  const own = body.filter((node) => !isSilent(node))
  const shown = own.slice(0, MOST_QUOTED).map((node) => comment(file, node))
  return own.length > MOST_QUOTED ? [...shown, { kind: 'comment', text: `... up to line ${own.at(-1)!.end}` }] : shown
}

const comment = (file: PythonFile, node: Statement): Out => ({ kind: 'comment', text: quoted(file, node) })

function isSilent(node: Statement): boolean {
  if (node._ === 'Pass' || node._ === 'Assert' || node._ === 'Import' || node._ === 'ImportFrom') return true
  return node._ === 'Expr' && (node.value._ === 'Constant' || isPrint(node.value))
}

const isPrint = (value: { readonly _: string }) => {
  const own = value as { readonly func?: { readonly id?: string } }
  return own.func?.id === 'print'
}

const EFFECTS = /\b(unported|addSublayer|addParameter|push)\b/

/** Without variables that nothing reads: Python's code is full of them. `text` is what stands behind the body. */
export function withoutUnused(out: readonly Out[], text = ''): readonly Out[] {
  const all = `${textOf(out)}\n${text}`
  const isUnused = (own: Out): boolean => {
    if (own.kind !== 'line' || own.written.gap || own.written.declares?.length !== 1 || EFFECTS.test(own.written.text))
      return false
    const name = own.written.pattern!
    return (all.match(new RegExp(`(?<![.\\w$])${name}(?![\\w$])`, 'g')) ?? []).length <= 1
  }
  const kept = out.filter((own) => !isUnused(own))
  return kept.length === out.length ? out : withoutUnused(kept, text)
}

const textOf = (out: readonly Out[]): string =>
  out
    .map((own) =>
      own.kind === 'line'
        ? `${own.written.pattern ?? ''} = ${own.written.text}`
        : own.kind === 'block'
          ? `${own.head} ${textOf(own.body)}`
          : '',
    )
    .join('\n')
