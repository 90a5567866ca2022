/** @file A program as text, one value a line, and its structural hash. */
import { createHash } from 'node:crypto'
import { formatShape } from './dim.ts'
import type { Op } from './op.ts'
import type { Program, TensorType } from './program.ts'

/** One line per input, node and fetch. */
export function printProgram(program: Program): string {
  const type = ({ dtype, shape }: TensorType) => `${dtype}${formatShape(shape)}`
  const value = (id: number) => `%${id}`
  return [
    ...program.feeds.map((feed) => `${value(feed.value)} = feed ${feed.name} : ${type(feed)}`),
    ...program.rows.map(
      (rows) =>
        `${value(rows.value)} = rows ${rows.name} of ${rows.table}(${rows.slots.join(', ')}) ${rows.pooling} : ${type(rows)}`,
    ),
    ...program.parameters.map(
      (parameter) => `${value(parameter.value)} = parameter ${parameter.name} : ${type(parameter)}`,
    ),
    ...program.state.map((state) => `${value(state.value)} = state ${state.name} : ${type(state)}`),
    ...program.nodes.map(
      (node) =>
        `${value(node.value)} = ${node.op.kind}(${node.inputs.map(value).join(', ')})${attributes(node.op)} : ${type(node)}`,
    ),
    ...program.fetches.map((fetch) => `fetch ${fetch.name} = ${value(fetch.value)}`),
  ].join('\n')
}

/** Equal for programs traced alike, on any thread or machine. */
export function programHash(program: Program): string {
  return createHash('sha256').update(JSON.stringify(program)).digest('hex').slice(0, 16)
}

function attributes({ kind, ...rest }: Op): string {
  const entries = Object.entries(rest).filter(([, value]) => value !== false)
  return entries.length === 0
    ? ''
    : ` {${entries.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(', ')}}`
}
