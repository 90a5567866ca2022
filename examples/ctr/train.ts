/**
 * @file Trains the CTR model in the pods of a cluster, in processes started by hand, or alone.
 *
 * oarfish exec train.ts --is_local 0 --cloud_train 1
 * oarfish exec train.ts --is_local 0 --role trainer --trainer_id 0 --trainers 2 --endpoints 10.0.0.1:6000,10.0.0.2:6000
 * oarfish exec train.ts
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fleet } from 'oarfish/fleet'
import * as fluid from 'oarfish/fluid'
import { parseTrainArgs, type TrainArgs } from './args.ts'
import { ctrDnnModelDataset, denseFeatureDim } from './network.ts'
import { roleOf } from './role.ts'

async function train() {
  const args = parseTrainArgs()
  const role = roleOf(args)
  if (role) fleet.init(role)

  const denseInput = fluid.layers.data({ name: 'dense_input', shape: [denseFeatureDim], dtype: 'float32' })
  const sparseInputIds = Array.from({ length: 26 }, (_, i) =>
    fluid.layers.data({ name: `C${i + 1}`, shape: [1], lodLevel: 1, dtype: 'int64' }),
  )
  const label = fluid.layers.data({ name: 'label', shape: [1], dtype: 'int64' })
  const inputs = [denseInput, ...sparseInputIds, label]
  const [loss, aucVar] = ctrDnnModelDataset(
    denseInput,
    sparseInputIds,
    label,
    args.embeddingSize,
    args.sparseFeatureDim,
  )

  const adam = new fluid.optimizer.Adam({ learningRate: 1e-4 })
  const strategy = new fluid.DistributeTranspilerConfig()
  strategy.syncMode = !args.asyncMode
  const optimizer = role ? fleet.distributedOptimizer(adam, strategy) : adam
  optimizer.minimize(loss)

  if (role && fleet.isServer()) {
    await fleet.initServer()
    await fleet.runServer()
    return
  }
  if (role) await fleet.initWorker()
  await trainLoop(args, inputs, loss, aucVar, role !== undefined)
  if (role) await fleet.stopWorker()
}

async function trainLoop(
  args: TrainArgs,
  inputs: readonly fluid.Variable[],
  loss: fluid.Variable,
  aucVar: fluid.Variable,
  isDistributed: boolean,
) {
  const exe = new fluid.Executor(fluid.CPUPlace())
  await exe.run(fluid.defaultStartupProgram())
  const dataset = new fluid.DatasetFactory().createDataset()
  dataset.setUseVar([...inputs])
  dataset.setPipeCommand(`${args.reader} ${args.sparseFeatureDim}`)
  dataset.setBatchSize(args.batchSize)
  dataset.setThread(args.threadNum)
  const files = filesOf(args.rawData)
  const mine = isDistributed ? fleet.util.getFileShard(files) : files
  console.log(`${mine.length} of ${files.length} files of ${args.rawData}`)
  dataset.setFilelist(mine)

  for (let pass = 0; pass < args.epochs; pass++) {
    const { samples, seconds, metrics } = await exe.trainFromDataset({
      program: fluid.defaultMainProgram(),
      dataset,
      fetchList: [loss, aucVar],
      fetchInfo: ['loss', 'auc'],
    })
    const { loss: ofBatch = 0, auc_0: auc = 0 } = metrics
    const numbers = `loss: ${(ofBatch / args.batchSize).toFixed(6)} auc: ${auc.toFixed(6)}`
    console.log(`TRAIN --> pass: ${pass} ${numbers} samples: ${samples} pass_time_cost: ${seconds.toFixed(2)}`)
    if (isDistributed && fleet.workerIndex() !== 0) continue
    const folder = join(args.modelOutputDir, `pass-${pass}`)
    await fluid.io.saveInferenceModel(
      folder,
      inputs.map(({ name }) => name),
      [loss, aucVar],
      exe,
    )
    console.log(`saved ${folder}`)
  }
  await exe.close()
}

const filesOf = (folder: string) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name))
    .sort()

await train()
