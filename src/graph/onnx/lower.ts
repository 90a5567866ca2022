/** @file Lowers a program to one ONNX model: inputs keep their names, fetches name the outputs, weights are inputs or part of the model. */
import { type OpKind, operandsOf, type Program, programInputs, programTypes } from '../program/index.ts'
import { OnnxGraph } from './graph.ts'
import { LOWERING_RULES, type LoweringRule } from './lowering.ts'
import { encodeModel, type OnnxModel, type OnnxNode, type OnnxTensor } from './messages.ts'

/** Every reduction takes its axes as an input from here on, and Shape takes a range; IR version 8 goes with it. */
const OPSET = 18

export interface OnnxOptions {
  /** Values of parameters and state by name: these become initializers instead of inputs. @default none */
  readonly weights?: ReadonlyMap<string, Float32Array> | undefined
}

/** The program as a serialized ONNX model. */
export function toOnnx(program: Program, options: OnnxOptions = {}): Uint8Array {
  return encodeModel(toOnnxModel(program, options))
}

/** The same before serialization, to look at or to build upon. */
export function toOnnxModel(program: Program, { weights = new Map() }: OnnxOptions = {}): OnnxModel {
  const graph = new OnnxGraph(program)
  const types = programTypes(program)
  const names = new Map(programInputs(program).map(({ name, value }) => [value, name]))
  for (const node of program.nodes) {
    const rule = LOWERING_RULES[node.op.kind] as LoweringRule<OpKind>
    const inputs = operandsOf(node, (id) => names.get(id)!)
    const operandTypes = operandsOf(node, (id) => types.get(id)!)
    names.set(node.value, rule(graph, { op: node.op, inputs, types: operandTypes, type: node }))
  }
  const outputs = nameOutputs(program, graph, names)
  return {
    opset: OPSET,
    name: 'program',
    nodes: graph.nodes.map((node) => rename(node, outputs)),
    initializers: [...graph.initializers, ...weightTensors(program, weights)],
    inputs: programInputs(program)
      .filter(({ name }) => !weights.has(name))
      .map(({ name, shape, dtype }) => ({ name, shape, dtype })),
    outputs: program.fetches.map(({ name, shape, dtype }) => ({ name, shape, dtype })),
  }
}

function weightTensors({ parameters, state }: Program, weights: ReadonlyMap<string, Float32Array>): OnnxTensor[] {
  return [...parameters, ...state].flatMap(({ name, shape }) => {
    const values = weights.get(name)
    return values ? [{ name, dims: shape as readonly number[], dtype: 'float32', values }] : []
  })
}

/** Node output -> fetch name; a fetch that is an input, a constant or another fetch's value gets a node of its own. */
function nameOutputs(
  program: Program,
  graph: OnnxGraph,
  names: ReadonlyMap<number, string>,
): ReadonlyMap<string, string> {
  const made = new Set(graph.nodes.map(({ output }) => output))
  const outputs = new Map<string, string>()
  for (const { name, value } of program.fetches) {
    const source = names.get(value)!
    if (made.has(source) && !outputs.has(source)) outputs.set(source, name)
    else graph.nodes.push({ type: 'Identity', inputs: [source], output: name, attributes: {} })
  }
  return outputs
}

function rename(node: OnnxNode, names: ReadonlyMap<string, string>): OnnxNode {
  const to = (name: string) => names.get(name) ?? name
  return { ...node, inputs: node.inputs.map(to), output: to(node.output) }
}
