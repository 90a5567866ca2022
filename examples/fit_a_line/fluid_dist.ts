/**
 * @file Linear regression on two servers and two trainers, each started by hand; README.md has the four command lines.
 *
 * PADDLE_TRAINING_ROLE=PSERVER PADDLE_CURRENT_IP=ps0.paddlepaddle.com \
 *   PADDLE_PSERVER_IPS=ps0.paddlepaddle.com,ps1.paddlepaddle.com PADDLE_TRAINERS=2 PADDLE_PSERVER_PORT=6174 \
 *   oarfish exec fluid_dist.ts
 */
import { AssertionError } from 'node:assert'
import { join } from 'node:path'
import * as fluid from 'oarfish/fluid'

// train reader
const EPOCH_NUM = 30
const BATCH_SIZE = 8

const uciHousing = fluid.dataset.uciHousing({ file: join(import.meta.dirname, 'data/housing.data') })
// every trainer shuffles in its own way
const seed = Number(process.env['PADDLE_TRAINER_ID'] ?? '0')
const trainReader = fluid.reader.batch(fluid.reader.shuffle(uciHousing.train(), { bufSize: 500, seed }), {
  batchSize: BATCH_SIZE,
})

async function train() {
  const y = fluid.layers.data({ name: 'y', shape: [1], dtype: 'float32' })
  const x = fluid.layers.data({ name: 'x', shape: [13], dtype: 'float32' })
  const yPredict = fluid.layers.fc({ input: x, size: 1, act: null })

  const loss = fluid.layers.squareErrorCost({ input: yPredict, label: y })
  const avgLoss = fluid.layers.mean(loss)
  const opt = new fluid.optimizer.SGD({ learningRate: 0.001 })
  opt.minimize(avgLoss)

  const place = fluid.CPUPlace()
  const feeder = new fluid.DataFeeder({ place, feedList: [x, y] })
  const exe = new fluid.Executor(place)

  // fetch distributed training environment setting
  const env = process.env
  const trainingRole = env['PADDLE_TRAINING_ROLE']
  const port = env['PADDLE_PSERVER_PORT'] ?? '6174'
  const pserverIps = env['PADDLE_PSERVER_IPS'] ?? ''
  const trainerId = Number(env['PADDLE_TRAINER_ID'] ?? '0')
  const pserverEndpoints = pserverIps
    .split(',')
    .map((ip) => `${ip}:${port}`)
    .join(',')
  const trainers = Number(env['PADDLE_TRAINERS'])
  const currentEndpoint = `${env['PADDLE_CURRENT_IP'] ?? ''}:${port}`
  if (trainingRole !== 'PSERVER' && trainingRole !== 'TRAINER') throw wrongRole(env['TRAINING_ROLE'])

  const t = new fluid.DistributeTranspiler()
  t.transpile({ trainerId, pservers: pserverEndpoints, trainers })

  if (trainingRole === 'PSERVER') {
    const pserverProg = t.getPserverProgram(currentEndpoint)
    const startupProg = t.getStartupProgram(currentEndpoint, pserverProg)
    await exe.run(startupProg)
    await exe.run(pserverProg)
  } else {
    const trainerProg = t.getTrainerProgram()
    await exe.run(fluid.defaultStartupProgram())

    for (let epoch = 0; epoch < EPOCH_NUM; epoch++) {
      let batchId = 0
      for (const batchData of trainReader()) {
        const [avgLossValue] = await exe.run({
          program: trainerProg,
          feed: feeder.feed(batchData),
          fetchList: [avgLoss],
        })
        if ((batchId + 1) % 10 === 0) {
          console.log(`Epoch: ${epoch}, Batch: ${batchId}, loss: ${avgLossValue![0]}`)
        }
        batchId++
      }
    }
    // destroy the resource of current trainer node in pserver server node
    await exe.close()
  }
}

/** Before anything else, since a launcher's processes have none of the variables above. */
function wrongRole(launched: string | undefined): AssertionError {
  const message = 'PADDLE_TRAINING_ROLE should be one of [TRAINER, PSERVER]'
  const hint = `This process has TRAINING_ROLE=${launched}, as a launcher sets it; start each process by hand as README.md says.`
  return new AssertionError({ message: launched ? `${message}\n  ${hint}` : message })
}

await train()
