/** @file A server without its sockets: what is in its tables when. */
import { expect, test } from 'vitest'
import { openProblem } from '../../../test/ps/exact.testing.ts'
import { type BatchParams, denseLayout, denseSlices } from '../../weights/params/index.ts'
import { KernelStore } from './kernel-store.ts'
import { METHODS } from './protocol.ts'
import { RemoteParams } from './remote-params.ts'
import { ParameterServer } from './server.ts'

test('a push that another thread of the server has answered is in the tables once its worker has left the pass', async () => {
  const { traced } = await openProblem({ kind: 'sgd', learningRate: 0.1 } as never)
  const { train: program, optimizer, tableOptimizers } = traced
  const { floats } = denseLayout(program, optimizer)
  const slices = denseSlices(floats, 1)
  const rules = { optimizer, tableOptimizers, tableParameters: {} }
  const size = { seed: 7, segments: 1, slice: slices[0]!, memoryLimitBytes: 2 ** 30, serverThreads: 2 }
  const store = new KernelStore({ program, ...rules, ...size, who: 'server[0]' })
  const job = { mode: 'async', workers: 1, threads: 2, segments: 1 } as const
  const lane = new ParameterServer({ store, ...job })
  const settleOthers = async () => lane.settle()
  const front = new ParameterServer({ store, ...job, settleOthers })
  const params = new RemoteParams({
    ...{ thread: 1, segments: 1, slices, pushesAhead: 0 },
    call: async (_, method, parts, __, read) => {
      const answer = await lane.handle(0, method, new Uint8Array(Buffer.concat(parts)))
      return read(new Uint8Array(Buffer.concat(answer)))
    },
  })
  const share: BatchParams = {
    samples: 1,
    tables: program.tables.map(({ dim }, table) => ({
      ...{ table, rows: new Float32Array(dim), gradients: new Float32Array(dim).fill(1) },
      distinct: { signs: BigUint64Array.of(5n), lengths: Uint32Array.of(1) },
    })),
    weights: new Float32Array(floats),
    gradients: new Float32Array(floats).fill(1),
  }
  await params.pull(share, true)
  const first = () => new Float32Array(store.row(0, 5n)!.slice().buffer)[0]
  const before = first()
  await params.push(share)
  expect(first()).toBe(before) // answered first
  await front.handle(0, METHODS.leave, new Uint8Array(0))
  expect(first()).toBeCloseTo(before! - 0.1)
})
