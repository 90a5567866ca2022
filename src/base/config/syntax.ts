/** @file Yaml that does not parse, or that means something else than it seems: one problem with its fix. */
import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, visit } from 'yaml'
import type { ConfigProblem } from './problem.ts'
import { type ConfigSource, lineStart } from './source.ts'
import { likelyFix } from './syntax-fix.ts'

/** The first syntax error; further ones are mostly its echo. */
export function syntaxProblem(source: ConfigSource): ConfigProblem | undefined {
  const error = source.document.errors[0]
  if (!error) return surprise(source)
  const fix = likelyFix(source.text, error.pos[0], source.document.errors.length)
  const at = fix?.at ?? error.pos[0]
  return {
    code: 'CONFIG_SYNTAX',
    key: '',
    message: `this is not yaml: ${fix?.message ?? error.message.charAt(0).toLowerCase() + error.message.slice(1)}`,
    place: { kind: 'file', span: { from: at, to: at + 1 } },
    fix: fix
      ? { kind: 'edit', edits: [fix.edit] }
      : { kind: 'advice', text: 'write this part as `key: value` lines, indented by spaces' },
  }
}

/** What parses and is never meant: an alias without its anchor, a map or list as a key, `<<` before what is no map. */
function surprise({ document, text }: ConfigSource): ConfigProblem | undefined {
  let problem: ConfigProblem | undefined
  const anchors = new Map<string, Node>() // as they come: an alias asked by itself looks through the whole document
  const meant = (node: unknown) => (isAlias(node) ? anchors.get(node.source) : node)
  const name = (node: Node | null) => {
    if (node && !isAlias(node) && node.anchor !== undefined) anchors.set(node.anchor, node)
  }
  visit(document, {
    Value: (_key, node) => name(node),
    Alias(_key, alias) {
      if (anchors.has(alias.source)) return undefined
      const [from, to] = [alias.range![0], alias.range![1]]
      const edits = [{ from, to, text: JSON.stringify(text.slice(from, to)) }]
      problem = found(`there is no anchor &${alias.source}; text that begins with * needs quotes`, { from, to, edits })
      return visit.BREAK
    },
    Pair(_key, pair) {
      const { key, value } = pair as Pair<Node | null, Node | null>
      for (const node of [key, value]) name(node) // `&a <<: *a` means its own key
      const wrong = key && wrongPair(key, value, meant)
      if (!wrong) return undefined
      const [from, end] = [key.range![0], (value ?? key).range![1]]
      const to = text.indexOf('\n', from + text.slice(from, end).trimEnd().length) + 1 || text.length
      const edits = [{ from: lineStart(text, from), to, text: '' }]
      problem = found(wrong, { from, to: key.range![1], edits })
      return visit.BREAK
    },
  })
  return problem
}

function wrongPair(key: Node, value: Node | null, meant: (node: unknown) => unknown): string | undefined {
  if (!isScalar(key)) return 'a map or a list cannot be a key'
  if (typeof key.value !== 'symbol') return undefined // the parser's mark for `<<`
  const merged = meant(value)
  // An alias without an anchor is told by its name.
  const isMerged = (node: unknown) => isMap(meant(node)) || (isAlias(node) && meant(node) === undefined)
  if (isSeq(merged) ? merged.items.every(isMerged) : isMerged(value)) return undefined
  return '<< takes over the keys of a map, and this is none'
}

function found(
  what: string,
  { from, to, edits }: { from: number; to: number; edits: readonly { from: number; to: number; text: string }[] },
): ConfigProblem {
  return {
    code: 'CONFIG_SYNTAX',
    key: '',
    message: `this is not yaml: ${what}`,
    place: { kind: 'file', span: { from, to } },
    fix: { kind: 'edit', edits },
  }
}
