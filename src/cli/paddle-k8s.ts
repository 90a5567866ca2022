/** @file `paddle_k8s`: what PaddlePaddle's images run in the pods of a job. */
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import { inPod } from './agent.ts'
import type { CliIo } from './io.ts'

/** Sub-commands of PaddlePaddle before Fluid, whose programs cannot run here. */
const BEFORE_FLUID = {
  start_pserver: 'starts "paddle pserver" of PaddlePaddle 0.x',
  start_trainer: 'starts a trainer of PaddlePaddle 0.x (v1 or v2) on its part of $TRAIN_LIST',
  start_new_pserver: 'starts a server of fault-tolerant training, registered in etcd',
  start_new_trainer: 'starts a trainer of fault-tolerant training, which takes tasks of a master',
  start_master: 'starts the master that deals out tasks of fault-tolerant training',
} as const

export function paddleK8sCommand(io: CliIo): Command {
  const command = new Command('paddle_k8s').description('Start the training program of a pod.')
  command
    .command('start_fluid')
    .description('Find the pods of the job by their labels and run $ENTRY with what was found in its environment.')
    .action(() => startFluid(io))
  for (const [name, does] of Object.entries(BEFORE_FLUID)) {
    command
      .command(name)
      .description(`Not part of Oarfish: it ${does}.`)
      .argument('[version]')
      .action(() => {
        throw new UserError(`paddle_k8s ${name} ${does}; that is not part of Oarfish.`, {
          code: 'KUBE_POD',
          hint: 'Use paddle_k8s start_fluid with ENTRY in the env of the pod; docs/guide/kubernetes.md says what it needs.',
        })
      })
  }
  return command
}

async function startFluid(io: CliIo): Promise<void> {
  const { startFluid } = await import('../jobs/kube/index.ts')
  const own = io.env['GLOG_logtostderr'] === '1' ? io.err : io.out
  await inPod(
    io,
    async (pod) =>
      await startFluid({
        ...pod,
        begunAt: performance.timeOrigin,
        say: (line) => void own.write(`${line}\n`),
        out: (text) => void io.out.write(text),
        err: (text) => void io.err.write(text),
      }),
  )
}
