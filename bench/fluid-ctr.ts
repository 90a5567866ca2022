/** @file The CTR DNN of models/rank/dnn as a fluid program with Fleet; `oarfish launch_ps` runs it, bench/fluid.ts measures it. */
import { readdirSync } from 'node:fs'
import { fleet, StrategyFactory } from 'oarfish/fleet'
import * as fluid from 'oarfish/fluid'

const [folder = 'data', batchSize = '512', threads = '1', mode = 'async'] = process.argv.slice(2)

const label = fluid.layers.data({ name: 'label', shape: [1], dtype: 'int64' })
const slots = Array.from({ length: 26 }, (_, i) =>
  fluid.layers.data({ name: `C${i + 1}`, shape: [1], lodLevel: 1, dtype: 'int64' }),
)
const dense = fluid.layers.data({ name: 'dense_input', shape: [13] })
const paramAttr = fluid.ParamAttr({
  name: 'embedding',
  initializer: fluid.initializer.Uniform({ low: -0.05, high: 0.05 }),
})
const pooled = slots.map((input) => {
  const rows = fluid.layers.embedding({ input, size: [1_000_001, 9], isSparse: true, paramAttr })
  return fluid.layers.sequencePool({ input: rows, poolType: 'sum' })
})
let top = fluid.layers.concat({ input: [...pooled, dense], axis: 1 })
for (const size of [512, 256, 128, 32]) top = fluid.layers.fc({ input: top, size, act: 'relu' })
const predict = fluid.layers.fc({ input: top, size: 2, act: 'softmax' })
const loss = fluid.layers.mean(fluid.layers.crossEntropy({ input: predict, label }))
const [auc] = fluid.layers.auc({ input: predict, label })

fleet.init()
const strategy =
  mode === 'half_async' ? StrategyFactory.createHalfAsyncStrategy() : StrategyFactory.createAsyncStrategy()
const adam = new fluid.optimizer.Adam({ learningRate: 0.001, lazyMode: true })
fleet.distributedOptimizer(adam, strategy).minimize(loss)

if (fleet.isServer()) {
  await fleet.initServer()
  await fleet.runServer()
} else {
  await fleet.initWorker()
  const exe = new fluid.Executor(fluid.CPUPlace())
  await exe.run(fluid.defaultStartupProgram())
  const dataset = new fluid.DatasetFactory().createDataset()
  dataset.setUseVar([label, ...slots, dense])
  dataset.setBatchSize(Number(batchSize))
  dataset.setThread(Number(threads))
  const files = readdirSync(folder).map((name) => `${folder}/${name}`)
  dataset.setFilelist(fleet.util.getFileShard(files))
  const { samples, seconds } = await exe.trainFromDataset({ dataset, fetchList: [auc], fetchInfo: ['auc'] })
  console.log(JSON.stringify({ worker: fleet.workerIndex(), samples, seconds }))
  await fleet.stopWorker()
}
