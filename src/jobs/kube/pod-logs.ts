/** @file Logs of pods in files that outlive them: `trainer.0.log`, one below the other for pods that followed each other in one place. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1Pod } from '@kubernetes/client-node'
import type { KubeClient } from './client.ts'
import { KubeError } from './errors.ts'
import { podIdentity } from './render/names.ts'

export interface PodLogs {
  /** Begins to read the logs of pods that have begun since. */
  follow(pods: readonly V1Pod[]): void
  /** When everything that pods have printed is in the files, or `withinMs` have passed. */
  settled(withinMs: number): Promise<void>
}

export interface PodLogsOptions {
  readonly client: Pick<KubeClient, 'logs' | 'read'>
  readonly folder: string
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

/** Where in its file a pod's log begins: what follows that was read before is passed over when it is read again. */
type Begins = Record<string, { readonly file: string; readonly start: number }>

const TRIES = 5
const AGAIN_MS = 500

export function openPodLogs({ client, folder, signal, say }: PodLogsOptions): PodLogs {
  mkdirSync(folder, { recursive: true })
  const state = join(folder, 'pods.json')
  const begins: Begins = existsSync(state) ? JSON.parse(readFileSync(state, 'utf8')) : {}
  const reading = new Map<string, Promise<void>>()

  const begin = (uid: string, pod: V1Pod) => {
    const known = begins[uid]
    if (known) return known
    const { role, rank } = podIdentity(pod)
    const file = `${role}.${rank}.log`
    const path = join(folder, file)
    if (existsSync(path)) appendFileSync(path, `--- started again, as ${pod.metadata?.name} on ${pod.spec?.nodeName}\n`)
    begins[uid] = { file, start: sizeOf(path) }
    writeFileSync(state, JSON.stringify(begins))
    return begins[uid]!
  }

  const read = async (uid: string, pod: V1Pod) => {
    const { file, start } = begin(uid, pod)
    const path = join(folder, file)
    for (let attempt = 1; attempt <= TRIES && !signal.aborted; attempt++) {
      try {
        let passed = sizeOf(path) - start
        for await (const piece of await client.logs(pod.metadata?.name ?? '', { follow: true, signal })) {
          const fresh = piece.subarray(Math.min(passed, piece.length))
          passed -= piece.length - fresh.length
          if (fresh.length > 0) appendFileSync(path, fresh)
        }
        return
      } catch (error) {
        if (signal.aborted) return
        const isGone = error instanceof KubeError && error.status === 404
        if (isGone || attempt === TRIES)
          return say(`The log of ${podIdentity(pod).title} cannot be read: ${(error as Error).message}`)
        await sleep(AGAIN_MS * attempt, undefined, { signal }).catch(() => undefined)
      }
    }
  }

  return {
    follow: (pods) => {
      for (const pod of pods.filter(hasBegun)) {
        const uid = pod.metadata?.uid ?? ''
        if (!reading.has(uid)) reading.set(uid, read(uid, pod))
      }
    },
    settled: async (withinMs) => {
      const late = new AbortController()
      await Promise.race([
        Promise.all(reading.values()),
        sleep(withinMs, undefined, { signal: late.signal }).catch(() => undefined),
      ])
      late.abort()
    },
  }
}

const hasBegun = ({ status }: V1Pod) =>
  status?.containerStatuses?.some(({ state }) => state?.running !== undefined || state?.terminated !== undefined) ??
  false

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0
