/** @file Entry of a scoring thread: opens a model, then answers batch after batch. Running the graph blocks this thread only. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { toPlainError } from '../../base/util/index.ts'
import { readExport, Scorer } from '../export/index.ts'
import { errorResponse } from './errors.ts'
import type { ScoreBatch, ScoreRequest, ScorerMessage, ScorerSettings } from './messages.ts'
import { createRequestParser } from './request.ts'
import { scoreRequests } from './score-requests.ts'
import { userRequestParser } from './user-request.ts'

await run(parentPort!, workerData as ScorerSettings)

async function run(port: MessagePort, { model, fillMissing, device, reader }: ScorerSettings): Promise<void> {
  const send = (message: ScorerMessage) => port.postMessage(message)
  try {
    const loaded = model.kind === 'loaded' ? model.loaded : await readExport(model.folder)
    const scorer = await Scorer.open(loaded, device)
    const { slots } = loaded.manifest
    const plain = createRequestParser(slots, fillMissing)
    const own = reader && userRequestParser(slots, reader)
    const parse = (request: ScoreRequest) => (own && request.kind === 'text' ? own(request.body) : plain(request))
    let queue = Promise.resolve()
    port.on('message', ({ batch, requests }: ScoreBatch) => {
      queue = queue.then(async () => {
        const responses = await scoreRequests(scorer, parse, requests).catch((error: unknown) => {
          // A defect: clients get a 500, the stack goes to the server's own output.
          console.error(error)
          return requests.map(() => ({ ...errorResponse(error), samples: 0 }))
        })
        send({ kind: 'scored', batch, responses })
      })
    })
    send({ kind: 'ready', loaded })
  } catch (error) {
    send({ kind: 'failed', error: toPlainError(error) })
  }
}
