/**
 * @file Trains the CTR model with workers and servers, by the Fleet API.
 *
 * oarfish data criteo-like --format criteo-tsv --rows 100000 --out data && mv data/train raw_data
 * oarfish launch_ps --worker_num 2 --server_num 2 train_fleet.ts
 */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { fleet, PaddleCloudRoleMaker } from 'oarfish/fleet'
import * as fluid from 'oarfish/fluid'
import { parseArgs } from './args.ts'
import { ctrDnnModelDataset, denseFeatureDim } from './network.ts'

async function train() {
  const args = parseArgs()
  if (!existsSync(args.modelOutputDir)) mkdirSync(args.modelOutputDir, { recursive: true })

  const denseInput = fluid.layers.data({ name: 'dense_input', shape: [denseFeatureDim], dtype: 'float32' })
  const sparseInputIds = Array.from({ length: 26 }, (_, i) =>
    fluid.layers.data({ name: `C${i + 1}`, shape: [1], lodLevel: 1, dtype: 'int64' }),
  )
  const label = fluid.layers.data({ name: 'label', shape: [1], dtype: 'int64' })

  const [loss, aucVar] = ctrDnnModelDataset(
    denseInput,
    sparseInputIds,
    label,
    args.embeddingSize,
    args.sparseFeatureDim,
  )

  const role = new PaddleCloudRoleMaker()
  fleet.init(role)

  const sgd = new fluid.optimizer.SGD({ learningRate: 1e-4 })
  const strategy = new fluid.DistributeTranspilerConfig()
  strategy.syncMode = false
  const optimizer = fleet.distributedOptimizer(sgd, strategy)
  optimizer.minimize(loss)

  if (fleet.isServer()) {
    await fleet.initServer()
    await fleet.runServer()
  } else if (fleet.isWorker()) {
    await fleet.initWorker()
    const exe = new fluid.Executor(fluid.CPUPlace())
    await exe.run(fluid.defaultStartupProgram())
    const dataset = new fluid.DatasetFactory().createDataset()
    dataset.setUseVar([denseInput, ...sparseInputIds, label])
    const pipeCommand = `${args.reader} ${args.sparseFeatureDim}`
    dataset.setPipeCommand(pipeCommand)
    dataset.setBatchSize(args.batchSize)
    dataset.setThread(args.threadNum)
    const wholeFilelist = readdirSync(args.rawData).map((_, x) => `${args.rawData}/part-${x}`)

    for (let i = 0; i < args.epochs; i++) {
      dataset.setFilelist(wholeFilelist.slice(0, Math.floor(0.8 * wholeFilelist.length)))
      await exe.trainFromDataset({
        program: fluid.defaultMainProgram(),
        dataset,
        fetchList: [aucVar],
        fetchInfo: ['auc'],
        debug: false,
      })

      if (fleet.workerIndex() === 0) {
        const modelDir = `${args.modelOutputDir}/epoch${i + 1}.model`
        process.stderr.write(`epoch${i + 1} finished\n`)
        await fluid.io.saveInferenceModel(
          modelDir,
          [denseInput.name, ...sparseInputIds.map((x) => x.name), label.name],
          [loss, aucVar],
          exe,
        )
      }
    }
  }
}

await train()
