/** @file Entry of a scoring thread: opens a model, then answers batch after batch. Running the graph blocks this thread only. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { toPlainError } from '../../base/util/index.ts'
import { readExport, Scorer } from '../export/index.ts'
import { itemsAlone, readIndex, Searcher } from '../recall/index.ts'
import { withDelta } from '../versions/index.ts'
import { errorResponse } from './errors.ts'
import type { LoadedModel, ScoreBatch, ScoreRequest, ScorerMessage, ScorerSettings, ScorerTask } from './messages.ts'
import { recallRequests } from './recall.ts'
import { createRequestParser } from './request.ts'
import { scoreRequests } from './score-requests.ts'
import { userRequestParser } from './user-request.ts'

await run(parentPort!, workerData as ScorerSettings)

async function run(port: MessagePort, { model, fillMissing, device, reader }: ScorerSettings): Promise<void> {
  const send = (message: ScorerMessage) => port.postMessage(message)
  const open = async (wanted: ScorerSettings['model']) => {
    const loaded = await loadModel(wanted)
    const scorer = await Scorer.open(loaded, device)
    const { slots } = loaded.manifest
    const plain = createRequestParser(slots, fillMissing)
    const own = reader && userRequestParser(slots, reader)
    const parse = (request: ScoreRequest) => (own && request.kind === 'text' ? own(request.body) : plain(request))
    const searcher = loaded.index && new Searcher(loaded.index)
    return { loaded, scorer, parse, searcher }
  }
  let opened: Awaited<ReturnType<typeof open>>
  try {
    opened = await open(model)
  } catch (error) {
    send({ kind: 'failed', error: toPlainError(error) })
    return
  }
  const score = async ({ batch, requests }: ScoreBatch) => {
    const { searcher } = opened
    const answers = searcher ? recallRequests({ ...opened, searcher }, requests) : scoreRequests(opened, requests)
    const responses = await answers.catch((error: unknown) => {
      // A defect: clients get a 500, the stack goes to the server's own output.
      console.error(error)
      return requests.map(() => ({ ...errorResponse(error), samples: 0 }))
    })
    send({ kind: 'scored', batch, responses })
  }
  const replace = async (wanted: ScorerSettings['model']) => {
    const former = opened.scorer
    try {
      opened = await open(wanted)
    } catch (error) {
      send({ kind: 'failed', error: toPlainError(error) })
      return
    }
    send({ kind: 'ready', loaded: opened.loaded })
    await former.close()
  }
  let queue = Promise.resolve()
  port.on('message', (task: ScorerTask) => {
    queue = queue.then(() => (task.kind === 'score' ? score(task) : replace(task.model)))
  })
  send({ kind: 'ready', loaded: opened.loaded })
}

async function loadModel(wanted: ScorerSettings['model']): Promise<LoadedModel> {
  if (wanted.kind === 'loaded') return wanted.loaded
  if (wanted.kind === 'index') {
    const index = await readIndex(wanted.folder)
    if (!index.user) throw itemsAlone(wanted.folder)
    return { ...index.user, index }
  }
  if (wanted.kind === 'dense') {
    const { loaded, model, steps, version } = wanted
    return { ...loaded, model, manifest: { ...loaded.manifest, steps }, version }
  }
  const { folder, version } = wanted
  if (wanted.kind === 'folder') return { ...(await readExport(folder)), version }
  return { ...(await withDelta(wanted.loaded, folder, wanted.expected)), version }
}
