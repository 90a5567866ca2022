/** @file Entry of a scoring thread: opens a model, then answers batch after batch. Running the graph blocks this thread only. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { readExport, Scorer } from '../export/index.ts'
import { toPlainError } from '../util/index.ts'
import { errorResponse } from './errors.ts'
import type { FromThread, ThreadSettings, ToThread } from './messages.ts'
import { createRequestParser } from './request.ts'
import { scoreRequests } from './score-requests.ts'

await run(parentPort!, workerData as ThreadSettings)

async function run(port: MessagePort, { model, fillMissing }: ThreadSettings): Promise<void> {
  const say = (message: FromThread) => port.postMessage(message)
  try {
    const loaded = model.kind === 'loaded' ? model.loaded : await readExport(model.folder)
    const scorer = await Scorer.open(loaded)
    const parse = createRequestParser(loaded.manifest.slots, fillMissing)
    let queue = Promise.resolve()
    port.on('message', ({ batch, requests }: ToThread) => {
      queue = queue.then(async () => {
        const responses = await scoreRequests(scorer, parse, requests).catch((error: unknown) => {
          // A defect: the clients are told so, its stack goes to the server's own output.
          console.error(error)
          return requests.map(() => ({ ...errorResponse(error), samples: 0 }))
        })
        say({ kind: 'scored', batch, responses })
      })
    })
    say({ kind: 'ready', loaded })
  } catch (error) {
    say({ kind: 'failed', error: toPlainError(error) })
  }
}
