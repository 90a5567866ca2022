/** @file Steps of the CTR DNN with its table on a device, small and large: `npm run bench -- --only device`. */
import { hostDevices, openDevice, SWIFTSHADER } from '../src/base/device/index.ts'
import { createRng } from '../src/base/util/index.ts'
import type { Batch, Slot } from '../src/data/index.ts'
import { backward } from '../src/graph/autodiff/index.ts'
import { openTableSession, ortEngine, type TypedView } from '../src/graph/engine/index.ts'
import { embedding, linear, sigmoidCrossEntropy } from '../src/graph/nn/index.ts'
import { rowsInputs, tableInputs } from '../src/graph/onnx/index.ts'
import { Builder, concat, mean, type Program, programInputs, type Tensor } from '../src/graph/program/index.ts'
import { HostStep, hostGraph } from '../src/training/step/index.ts'
import { kernelRule, optimizer, stepFactors } from '../src/weights/optim/index.ts'
import { createLocalParams, LocalParams } from '../src/weights/params/index.ts'

const [SLOTS, DIM, DENSE] = [26, 9, 13]
const SIZES = [100_000, 2_000_000]
const [CPU_SAMPLES, CPU_STEPS] = [512, 60]
/** Of models/rank/dnn/config_gpubox.yaml. */
const FC_SIZES = [512, 256, 128, 32]
const SPEC = optimizer.adam({ learningRate: 0.001, lazy: true })
/** A step with the large table takes at most so much of one with the small. */
const AT_MOST = 1.1

/** Prints the best and the median step for each table; false where the large one costs more than it may. */
export async function measureDevice({ samples = 16, steps = 12, rounds = 3 } = {}): Promise<boolean> {
  console.log(`# A step on the CPU, batch ${CPU_SAMPLES}, ${SLOTS} slots of ${DIM}, rows drawn from the whole table\n`)
  const onHost = await compared((rows) => cpuTimes(rows, CPU_STEPS), rounds)
  if (hostDevices().webgpu.adapters.length === 0) {
    console.log(`- no WebGPU adapter: oarfish devices (in software: VK_DRIVER_FILES=${SWIFTSHADER})`)
    return onHost
  }
  const device = openDevice({ device: 'webgpu' }, {}, console.log)
  console.log(`\n# A step on ${device.name}, batch ${samples}, ${SLOTS} slots of ${DIM}, Adam on the device\n`)
  return (await compared((rows) => stepTimes(device, rows, samples, steps), rounds)) && onHost
}

async function compared(timesOf: (rows: number) => Promise<number[]>, rounds: number): Promise<boolean> {
  const times = new Map<number, number[]>(SIZES.map((rows) => [rows, []]))
  // In turns, so that what else the machine does falls on both.
  for (let round = 0; round < rounds; round++) for (const rows of SIZES) times.get(rows)!.push(...(await timesOf(rows)))
  console.log('| rows | table | best | median |\n| --- | --- | --- | --- |')
  const medians = SIZES.map((rows) => {
    const sorted = times.get(rows)!.sort((a, b) => a - b)
    const median = sorted[sorted.length >> 1]!
    const bytes = rows * DIM * (1 + kernelRule(SPEC).states) * 4
    console.log(
      `| ${rows} | ${Math.round(bytes / 2 ** 20)} MiB | ${sorted[0]!.toFixed(1)} ms | ${median.toFixed(1)} ms |`,
    )
    return median
  })
  const ratio = medians[1]! / medians[0]!
  console.log(`\n${ratio.toFixed(2)} times as long with ${SIZES[1]! / SIZES[0]!} times the rows (at most ${AT_MOST})`)
  return ratio <= AT_MOST
}

/** The same net over a table in memory: a step of the host, with every row there before. */
async function cpuTimes(rows: number, steps: number): Promise<number[]> {
  const program = ctrDnn()
  const sparse = Array.from({ length: SLOTS }, (_, i): Slot => ({ kind: 'sparse', name: String(i + 1) }))
  const dense = (name: string, width: number): Slot => ({ kind: 'dense', name, width, dtype: 'float32' })
  const slots = [...sparse, dense('dense_input', DENSE), dense('label', 1)]
  const params = new LocalParams(createLocalParams({ program, optimizer: SPEC, seed: 1, threads: 1 }), 0)
  const [table] = params.tables
  const signs = BigUint64Array.from({ length: rows }, (_, i) => BigInt(i))
  table!.load(signs, new Uint8Array(rows * table!.rowBytes))
  const step = new HostStep({
    ...{ program, params, slots, metrics: [], layout: params.dense.layout, segments: 4, seed: 1, training: true },
    ...{ graph: hostGraph(await ortEngine().compile(program)), batchSize: CPU_SAMPLES },
  })
  const rng = createRng(2n)
  const times: number[] = []
  for (let index = 0; index < steps + 5; index++) {
    const batch = drawn(index, CPU_SAMPLES, () => BigInt(rng.below(rows)))
    const started = performance.now()
    await step.run(batch)
    if (index >= 5) times.push(performance.now() - started)
  }
  await step.close()
  return times
}

function drawn(index: number, samples: number, draw: () => bigint): Batch {
  const chunk = {
    samples,
    counts: new Uint32Array(samples * SLOTS).fill(1),
    starts: Uint32Array.from({ length: samples + 1 }, (_, i) => i * SLOTS),
    signs: BigUint64Array.from({ length: samples * SLOTS }, draw),
    dense: [new Float32Array(samples * DENSE).fill(0.01), new Float32Array(samples).fill(index % 2)],
  }
  const pieces = [{ chunk: chunk as never, from: 0, to: samples }]
  return { epoch: 0, index, size: samples, pieces, cursor: { chunk: 0, sample: 0 }, fraction: 0 }
}

async function stepTimes(device: ReturnType<typeof openDevice>, rows: number, samples: number, steps: number) {
  const program = ctrDnn()
  const rule = kernelRule(SPEC)
  const session = await openTableSession({ program, device, ruleOf: () => rule })
  try {
    const width = DIM * (1 + rule.states)
    await session.upload('embedding', floats([rows, width]))
    const inputs = batch(program, rows, samples)
    const loss = floats([])
    for (let i = 0; i < 2; i++) await session.run(inputs, { loss }) // shaders
    const times: number[] = []
    for (let i = 0; i < steps; i++) {
      const started = performance.now()
      await session.run(inputs, { loss })
      times.push(performance.now() - started)
    }
    return times
  } finally {
    await session.close()
  }
}

function ctrDnn(): Program {
  const builder = new Builder()
  const slots = Array.from({ length: SLOTS }, (_, i) => ({ kind: 'sparse' as const, name: String(i + 1), builder }))
  const dense = builder.feed('dense_input', ['B', DENSE], 'float32')
  const label = builder.feed('label', ['B', 1], 'float32')
  let x: Tensor = concat([embedding(slots, { name: 'embedding', dim: DIM }), dense], 1)
  for (const [i, out] of FC_SIZES.entries()) x = linear(x, { name: `fc${i}`, out, activation: 'relu' })
  return backward(builder.build({ loss: mean(sigmoidCrossEntropy(linear(x, { name: 'out', out: 1 }), label)) }), 'loss')
}

function batch(program: Program, rows: number, samples: number): Record<string, TypedView> {
  const rng = createRng(1n)
  const occurrences = Array.from({ length: samples * SLOTS }, () => rng.below(rows))
  const unique = [...new Set(occurrences)]
  const places = new Map(unique.map((row, i) => [row, i]))
  const names = tableInputs('embedding')
  const cells = rowsInputs(program.rows[0]!.name)
  const { rate, aux } = stepFactors(SPEC, 1)
  const own = programInputs(program)
    .filter(({ name }) => !program.rows.some((spec) => spec.name === name))
    .map(
      ({ name, shape }) =>
        [
          name,
          floats(
            shape.map((dim) => (dim === 'B' ? samples : Number(dim))),
            0.01,
          ),
        ] as const,
    )
  return {
    ...Object.fromEntries(own),
    [names.unique]: ints(unique),
    [names.merged]: floats([unique.length, DIM]),
    [names.rate]: floats([1], rate),
    [names.aux]: floats([1], aux),
    [cells.inverse]: ints(occurrences.map((row) => places.get(row)!)),
    [cells.cell]: ints(occurrences.map((_, i) => i)),
    [cells.factor]: floats([occurrences.length, 1], 1),
    [cells.pooled]: floats([occurrences.length, DIM]),
    [cells.shape]: { dims: [2], dtype: 'int64', data: BigInt64Array.of(BigInt(samples), BigInt(SLOTS * DIM)) },
  }
}

const floats = (dims: readonly number[], value = 0): TypedView => ({
  dims,
  dtype: 'float32',
  data: new Float32Array(dims.reduce((a, b) => a * b, 1)).fill(value),
})
const ints = (values: readonly number[]): TypedView => ({
  dims: [values.length],
  dtype: 'int32',
  data: Int32Array.from(values),
})
