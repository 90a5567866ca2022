/** @file The keys of conf.py as yaml. */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { UserError, type Where } from '../util/index.ts'
import type { Assignments, Literal } from './literal.ts'

export function parseYamlConf(file: string, text: string): Assignments {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number): Where => {
    const { line, col } = lines.linePos(offset)
    return { file, line, column: col }
  }
  const whereOf = (node: Node) => at(node.range?.[0] ?? 0)
  const [broken] = document.errors
  if (broken) throw problem(broken.message, at(broken.pos[0]))

  const literal = (node: unknown, parent: Where): Literal => {
    if (isAlias(node)) return literal(node.resolve(document), whereOf(node))
    if (isSeq(node)) return { value: node.items.map((item) => literal(item, whereOf(node))), where: whereOf(node) }
    if (isScalar(node)) return { value: node.value as Literal['value'], where: whereOf(node) }
    if (node === null || node === undefined) return { value: null, where: parent }
    throw problem('expected a text, a number or a list.', parent)
  }
  if (!isMap(document.contents)) throw problem('expected keys and values.', at(0), 'HOSTS: [root@192.168.100.17]')
  return new Map(
    document.contents.items.map(({ key, value }) => {
      const where = whereOf(key as Node)
      return [String(isScalar(key) ? key.value : key), { literal: literal(value, where), where }]
    }),
  )
}

const problem = (message: string, where: Where, hint?: string) =>
  new UserError(message, { code: 'SSH_CONF', where, ...(hint && { hint }) })
