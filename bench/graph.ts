/** @file Times the step graph of the CTR DNN alone on one thread and prints its nodes: `node --import jiti/register bench/graph.ts [batch] [seconds]`. */
import { backward } from '../src/graph/autodiff/index.ts'
import { ortEngine, type TensorView } from '../src/graph/engine/index.ts'
import { embedding, linear, softmaxCrossEntropy } from '../src/graph/nn/index.ts'
import { toOnnxModel } from '../src/graph/onnx/index.ts'
import {
  Builder,
  concat,
  evaluateDim,
  mean,
  printProgram,
  programInputs,
  type Shape,
  slice,
  softmax,
  type Tensor,
} from '../src/graph/program/index.ts'

const [batch, seconds] = [Number(process.argv[2] ?? 512), Number(process.argv[3] ?? 3)]
const step = ctrDnnStep()
if (process.env['DEBUG']) console.log(printProgram(step))
const counts = new Map<string, number>()
for (const { type } of toOnnxModel(step).nodes) counts.set(type, (counts.get(type) ?? 0) + 1)
console.log([...counts].map(([type, n]) => `${type} ${n}`).join(', '))

const session = await ortEngine().compile(step)
const bound = session.bind(
  Object.fromEntries(
    programInputs(step).map(({ name, shape, dtype }) => [name, dtype === 'int64' ? labels(shape) : floats(shape)]),
  ),
  Object.fromEntries(step.fetches.map(({ name, shape }) => [name, floats(shape)])),
)
for (let i = 0; i < 10; i++) await bound.run()
const times: number[] = []
for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
  const start = performance.now()
  await bound.run()
  times.push(performance.now() - start)
}
times.sort((a, b) => a - b)
const report = (name: string, ms: number) =>
  `${name} ${ms.toFixed(2)} ms = ${Math.round((batch / ms) * 1000)} samples/s`
console.log(
  `${report('best', times[0]!)}, ${report('median', times[times.length >> 1]!)}, ${times.length} runs at batch ${batch}`,
)
await session.close()

function ctrDnnStep() {
  const builder = new Builder()
  const slots = Array.from({ length: 26 }, (_, i) => ({ kind: 'sparse' as const, name: String(i + 1), builder }))
  const dense = builder.feed('dense_input', ['B', 13], 'float32')
  const label = builder.feed('label', ['B', 1], 'int64')
  let x: Tensor = concat([embedding(slots, { name: 'embedding', dim: 9 }), dense], 1)
  for (const [i, out] of [512, 256, 128, 32].entries()) x = linear(x, { name: `fc${i}`, out, activation: 'relu' })
  const logits = linear(x, { name: 'out', out: 2 })
  const program = builder.build({ loss: mean(softmaxCrossEntropy(logits, label)), prob: slice(softmax(logits), 1, 1) })
  return backward(program, 'loss')
}

function dimsOf(shape: Shape): number[] {
  return shape.map((dim) => evaluateDim(dim, () => batch))
}

function floats(shape: Shape): TensorView {
  const dims = dimsOf(shape)
  const length = dims.reduce((a, b) => a * b, 1)
  return { dims, data: Float32Array.from({ length }, () => (Math.random() - 0.5) * 0.1) }
}

function labels(shape: Shape): TensorView {
  const dims = dimsOf(shape)
  return { dims, data: BigInt64Array.from({ length: batch }, () => BigInt(Math.random() < 0.3)) }
}
