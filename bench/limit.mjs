/** @file The limit: the step graph alone, on T threads, tensors allocated once. `node bench/limit.mjs step.onnx T SECONDS BATCH` */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import * as ort from 'onnxruntime-node'

if (isMainThread) {
  const [file, threads, seconds, batch] = [process.argv[2], ...process.argv.slice(3).map(Number)]
  const workers = Array.from(
    { length: threads },
    () => new Worker(new URL(import.meta.url), { workerData: { file, seconds, batch } }),
  )
  const next = (worker) => new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  await Promise.all(workers.map(next)) // all are warm
  for (const worker of workers) worker.postMessage('go')
  const rates = await Promise.all(workers.map(next))
  console.log(
    JSON.stringify({
      peer: 'onnxruntime-node, graph alone',
      threads,
      batch,
      samples_per_s: Math.round(rates.reduce((a, b) => a + b)),
    }),
  )
} else {
  const { file, seconds, batch } = workerData
  const session = await ort.InferenceSession.create(file, { intraOpNumThreads: 1, interOpNumThreads: 1 })
  const tensor = ({ name, type, shape }) => {
    const dims = shape.map((dim) => (typeof dim === 'number' ? dim : batch))
    const size = dims.reduce((a, b) => a * b, 1)
    const data =
      type === 'int64' ? new BigInt64Array(size) : Float32Array.from({ length: size }, () => Math.random() * 0.1)
    return [name, new ort.Tensor(type, data, dims)]
  }
  const [feeds, fetches] = [session.inputMetadata, session.outputMetadata].map((list) =>
    Object.fromEntries(list.map(tensor)),
  )
  for (let i = 0; i < 20; i++) await session.run(feeds, fetches)
  parentPort.once('message', async () => {
    const start = performance.now()
    let steps = 0
    for (; performance.now() - start < seconds * 1000; steps++) await session.run(feeds, fetches)
    parentPort.postMessage((steps * batch * 1000) / (performance.now() - start))
  })
  parentPort.postMessage('warm')
}
