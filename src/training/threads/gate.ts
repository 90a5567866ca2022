/**
 * @file A thread that is ended inside onnxruntime takes its whole process with it. Threads pass a gate on their way in and out; whoever
 * wants to end them shuts it, waits until nobody is inside, and may then end them at any moment: no time limit can be too short.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine, Session } from '../../graph/engine/index.ts'

/** On shared memory: how many are inside, and whether it is shut. */
export type Gate = Int32Array<SharedArrayBuffer>

const [INSIDE, SHUT] = [0, 1]
const LOOK_MS = 5

export function createGate(): Gate {
  return new Int32Array(new SharedArrayBuffer(8))
}

export type Pass = <T>(work: () => Promise<T>) => Promise<T>

/** Work behind a gate. Whoever comes when it is shut waits for the end of the thread. */
export function throughGate(gate: Gate): Pass {
  return async <T>(work: () => Promise<T>): Promise<T> => {
    // In this order: the one who shuts the gate looks for those inside afterwards.
    Atomics.add(gate, INSIDE, 1)
    if (Atomics.load(gate, SHUT) === 1) {
      Atomics.sub(gate, INSIDE, 1)
      return await new Promise<never>(() => {})
    }
    try {
      return await work()
    } finally {
      Atomics.sub(gate, INSIDE, 1)
    }
  }
}

/** The same engine behind a gate. */
export function gated(engine: Engine, gate: Gate): Engine {
  const pass = throughGate(gate)
  return {
    name: engine.name,
    compile: async (program) => gatedSession(await pass(() => engine.compile(program)), pass),
  }
}

function gatedSession(session: Session, pass: Pass): Session {
  return {
    bind: (inputs, outputs) => {
      const bound = session.bind(inputs, outputs)
      return { run: () => pass(() => bound.run()) }
    },
    run: (inputs) => pass(() => session.run(inputs)),
    close: () => pass(() => session.close()),
  }
}

/** Lets nobody in any more; resolves when nobody is inside. What runs there is arithmetic, which always ends. */
export async function shutGate(gate: Gate): Promise<void> {
  Atomics.store(gate, SHUT, 1)
  while (Atomics.load(gate, INSIDE) > 0) await sleep(LOOK_MS)
}
