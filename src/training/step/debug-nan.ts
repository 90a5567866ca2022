/** @file --debug-nan: which op first made a value that is no number, of which operands, on which line of the model. */
import { UserError } from '../../base/util/index.ts'
import type { Batch } from '../../data/index.ts'
import { firstNotFinite, type NotFinite, type TensorView } from '../../graph/engine/index.ts'
import type { Program } from '../../graph/program/index.ts'

type Tensors = Readonly<Record<string, TensorView>>

/** Throws where the loss or a gradient of a step is not finite. */
export function refuseNotFinite(program: Program, inputs: Tensors, outputs: Tensors, { epoch, index }: Batch): void {
  const names = Object.keys(outputs).filter((name) => name === 'loss' || name.startsWith('grad:'))
  const wrong = names.find((name) => !outputs[name]!.data.every((value) => Number.isFinite(Number(value))))
  if (wrong === undefined) return
  const what =
    wrong === 'loss' ? `The loss became ${outputs['loss']!.data[0]}` : `The gradient of ${wrong.slice(5)} is not finite`
  const found = firstNotFinite(program, inputs)
  throw new UserError(`${what} at epoch ${epoch}, batch ${index}; it was not applied. ${found ? told(found) : LOST}`, {
    code: 'LOSS_NOT_FINITE',
    hint: found?.input === undefined ? hintFor(found?.node?.op.kind) : INPUT,
  })
}

const LOST =
  'Computed again by itself, every value is finite: it overflows only in the order in which onnxruntime adds up.'
const INPUT =
  'It came into the step like that. A feature: mend the data. Weights or rows: an earlier step was too large, so lower the learning rate, or clip gradients.'

const HINTS: Readonly<Record<string, string>> = {
  log: 'Keep what goes into log above 0: log(add(x, 1e-6)), or a loss that takes logits (nn.sigmoidCrossEntropy).',
  sqrt: 'Keep what goes into sqrt at 0 or above; its gradient is infinite at 0: sqrt(add(x, 1e-6)).',
  div: 'Keep the divisor away from 0: div(a, add(b, 1e-6)).',
  exp: 'exp overflows above 88: clip what goes into it, or use softmax, sigmoid or softplus, which do not overflow.',
}

const hintFor = (kind = '') =>
  HINTS[kind] ??
  'Values have grown too large before it: lower the learning rate, clip gradients, or scale the dense features.'

function told({ input, node, value, at, operands }: NotFinite): string {
  const bad = value.data[at]
  const count = value.data.filter((number: number) => !Number.isFinite(number)).length
  const [sample, where] = [
    Math.floor((at * (value.dims[0] ?? 1)) / value.data.length),
    value.dims.length === 0 ? '' : 'sample ',
  ]
  const place = where === '' ? '' : `, first at ${where}${sample}`
  const many = `${count} of ${value.data.length} values`
  if (!node) return `The input "${input}" holds ${bad}: ${many}${place}.`
  const given = operands.map((operand) => operandAt(operand, at, value.data.length)).join(', ')
  const shapes = operands.map(({ dims }) => `[${dims.join(', ')}]`).join(', ')
  return `${node.place ? `${node.place} ` : ''}${node.op.kind}(${shapes}) made ${bad} of finite operands, ${many}${place}: ${node.op.kind}(${given}) = ${bad}.`
}

/** The operand that met at this place, where it is one number a result; otherwise how large its values are. */
function operandAt({ data }: { readonly data: ArrayLike<number> }, at: number, length: number): string {
  const short = (value: number) => String(Number(value.toPrecision(4)))
  if (data.length === 1) return short(data[0]!)
  if (data.length === length) return short(data[at]!)
  let [low, high] = [Infinity, -Infinity]
  for (let i = 0; i < data.length; i++) [low, high] = [Math.min(low, data[i]!), Math.max(high, data[i]!)]
  return `${short(low)} to ${short(high)}`
}
