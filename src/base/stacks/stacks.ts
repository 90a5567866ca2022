/**
 * @file Stacks by the inspector inside this process; no port is opened. A thread in a loop of JavaScript or in Atomics.wait is interrupted for a moment and goes on; one inside
 * a native call (onnxruntime, a system call) or waiting for messages cannot be, and that is said.
 */
import { Session } from 'node:inspector'

export interface ThreadStack {
  readonly name: string
  /** `function (file:line)`, the innermost first; undefined: it does not run JavaScript now. */
  readonly frames: readonly string[] | undefined
}

interface Frame {
  readonly functionName: string
  readonly url: string
  readonly location: { readonly scriptId: string; readonly lineNumber: number }
}

/** What comes from the inspector of one thread. */
interface Said {
  readonly method?: string
  readonly params?: {
    readonly scriptId?: string
    readonly url?: string
    readonly callFrames?: readonly Frame[]
  }
}

/** How long a thread may take to come to a place where it can be interrupted. */
const WAIT_MS = 1500
const DEEPEST = 30

/** Frames of Node alone: it hands over a message, and is asked again in what comes of it, or waits. */
const NODES_OWN = / \(node:/

/** One thread as it answers: urls of its scripts, then where it paused. */
class Asked {
  readonly name: string
  frames: readonly string[] | undefined
  readonly #urls = new Map<string, string>()
  readonly #say: (method: string) => void

  constructor(name: string, say: (method: string) => void) {
    this.name = name
    this.#say = say
    say('Debugger.enable')
    say('Debugger.pause')
  }

  hear({ method, params }: Said): void {
    if (method === 'Debugger.scriptParsed') this.#urls.set(params!.scriptId!, params!.url!)
    else if (method === 'Debugger.paused') {
      const frames = params!.callFrames!.slice(0, DEEPEST).map((frame) => this.#text(frame))
      const between = frames.every((frame) => NODES_OWN.test(frame))
      if (!between) this.frames ??= frames
      this.#say('Debugger.resume')
      if (between) this.#say('Debugger.pause')
    }
  }

  /** It is not interrupted any more, also if it comes to JavaScript later. */
  leave(): void {
    this.#say('Debugger.disable')
  }

  #text({ functionName, url, location: { scriptId, lineNumber } }: Frame): string {
    const file = (url || this.#urls.get(scriptId) || 'native').replace(/^file:\/\//, '')
    return `${functionName || '(anonymous)'} (${file}:${lineNumber + 1})`
  }
}

/** Of all threads but the one that asks, which is the main thread. */
export async function threadStacks(waitMs: number = WAIT_MS): Promise<readonly ThreadStack[]> {
  const session = new Session()
  session.connect()
  const threads = new Map<string, Asked>()
  const post = (method: string, params: object) => session.post(method, params, () => undefined)
  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
    let id = 0
    const say = (method: string) =>
      post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id: ++id, method }) })
    threads.set(sessionId, new Asked(workerInfo.title, say))
  })
  session.on('NodeWorker.receivedMessageFromWorker', ({ params: { sessionId, message } }) => {
    threads.get(sessionId)?.hear(JSON.parse(message) as Said)
  })
  try {
    post('NodeWorker.enable', { waitForDebuggerOnStart: false })
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    for (const thread of threads.values()) thread.leave()
    return [...threads.values()].map(({ name, frames }) => ({ name, frames }))
  } finally {
    post('NodeWorker.disable', {})
    session.disconnect()
  }
}

/** Of the main thread, asked by another one. */
export async function stackOfMain(waitMs: number = WAIT_MS): Promise<ThreadStack> {
  const session = new Session()
  session.connectToMainThread()
  const main = new Asked('main', (method) => session.post(method, () => undefined))
  session.on('inspectorNotification', (said) => main.hear(said as Said))
  try {
    const until = performance.now() + waitMs
    while (!main.frames && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
    main.leave()
    return { name: main.name, frames: main.frames }
  } finally {
    session.disconnect()
  }
}

const ELSEWHERE = 'waits for messages, or is inside a call that is not JavaScript (onnxruntime, a system call)'

export function stacksText(stacks: readonly ThreadStack[]): string {
  return stacks
    .map(({ name, frames }) => `${name}: ${frames ? `\n    ${frames.join('\n    ')}` : ELSEWHERE}`)
    .join('\n')
}

/** Of this process, by its main thread, which runs its event loop: else it could not be asked. */
export async function processStacks(): Promise<string> {
  const stacks = await threadStacks()
  const counts = new Map<string, number>()
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1)
  const waits = [...counts].map(([name, count]) => `${count} ${name}`).join(', ')
  const main = `main: runs its event loop, which waits for ${waits}`
  return `Threads of process ${process.pid}, ${new Date().toISOString()}:\n${main}\n${stacksText(stacks)}\n`
}
