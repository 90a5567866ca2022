/** @file random_bits as ONNX nodes: int32 Mul, Add and Div on the rows, then three passes over the elements. */
import { ROW_ROUNDS, ROW_STEP, SECOND_WORD, sizeOf, streamWords } from '../program/index.ts'
import type { OnnxGraph } from './graph.ts'
import type { Lowered } from './lowering.ts'
import { dataType } from './messages.ts'

/** The same bits as `elementBits(rowWords(seed, ...), ...)` in program/random.ts. */
export function randomBits(graph: OnnxGraph, { op, inputs: [seed] }: Lowered<'random_bits'>): string {
  const last = op.shape.at(-1)
  const columns = typeof last === 'number' ? last : 1
  const rows = typeof last === 'number' ? sizeOf(op.shape.slice(0, -1)) : sizeOf(op.shape)
  const words = streamWords(op.stream, columns)
  const int = (value: number) => graph.scalar(value, 'int32')

  const zero = int(0)
  const count = graph.node('Cast', [graph.node('Squeeze', [graph.size(rows)])], { to: dataType('int32') })
  const row = graph.node('Range', [zero, count, int(1)]) // [rows]
  const counter = graph.node('Add', [
    graph.node('Mul', [row, int(ROW_STEP)]),
    graph.node('Add', [seed, int(words.start)]),
  ])
  const first = mixRow(graph, counter)
  const odd = graph.node('Add', [graph.node('Mul', [first, int(2)]), int(1)])
  const addend = mixRow(graph, graph.node('Add', [first, int(SECOND_WORD)]))

  const column = (vector: string) => graph.node('Unsqueeze', [vector, graph.ints([1])]) // [rows, 1]
  const product = graph.node('Mul', [column(odd), graph.constant(words.columns, [columns], 'int32')]) // [rows, columns]
  const bits = graph.node('Mul', [product, graph.node('Add', [product, column(addend)])])
  return op.shape.length === 2 && typeof last === 'number' ? bits : graph.node('Reshape', [bits, graph.shape(op.shape)])
}

function mixRow(graph: OnnxGraph, word: string): string {
  return ROW_ROUNDS.reduce((x, [multiplier, divisor]) => {
    const product = graph.node('Mul', [x, graph.scalar(multiplier, 'int32')])
    return graph.node('Add', [product, graph.node('Div', [product, graph.scalar(divisor, 'int32')])])
  }, word)
}
