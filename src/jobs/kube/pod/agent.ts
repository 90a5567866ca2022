/** @file `oarfish agent kubernetes`: one pod of a rendered job, from its mounted files to its output. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from '../../../base/env/index.ts'
import type { Event } from '../../../base/event/index.ts'
import { readLogs, runNode } from '../../agent/index.ts'
import type { Job, JobData } from '../../submit/index.ts'
import type { KubeClient } from '../client.ts'
import { keptFolder, ownerUid } from './job-uid.ts'
import { patient } from './peers.ts'
import { podPlacement, readRenderedPod } from './rendered-pod.ts'
import { terminationMessage, writeTermination } from './termination.ts'

/** What every program of a pod is given. */
export interface PodContext {
  readonly env: Env
  readonly connect: (namespace: string) => Promise<KubeClient>
  readonly signal: AbortSignal
}

export interface AgentOptions extends PodContext {
  readonly say: (line: string) => void
  /** Takes what the job's processes print. */
  readonly print: (text: string) => void
  /** Holds `files`, `work` and, where there is such a volume, `afs`. @default '/oarfish' */
  readonly root?: string
}

/** Resolves to the exit code of the pod; undefined when it was asked to stop. */
export async function runAgent(options: AgentOptions): Promise<number | undefined> {
  const { env, say, signal } = options
  const pod = readRenderedPod(env)
  const places = placesBelow(options.root ?? '/oarfish')
  const job = readJob(places)
  linkData(places)
  const client = patient(await options.connect(pod.namespace), { say, signal })
  const placement = await podPlacement(pod, { client, say, signal })
  const { role, rank } = placement.own[0]!
  const kept = keptFolder(await ownerUid(client, pod.name), keptAt(job.data, places))
  // Files of trainer 0 are the job's; the others' lie in a folder for each.
  const node = role === 'worker' ? rank : pod.trainers + rank
  const printed = new LastLines()
  let over = false
  const printing = printAll(
    readLogs(places.logs, {}, () => over),
    (text) => {
      printed.add(text)
      options.print(text)
    },
  )
  const emit = (event: Event) => {
    if (event.kind === 'notice' || event.kind === 'warning' || event.kind === 'error') say(event.message)
    else if (event.kind === 'process') say(`${pod.role} ${event.rank}: ${event.state}`)
  }
  const code = await runNode({
    job,
    node,
    nodes: pod.trainers + pod.servers,
    folder: places.job,
    logs: places.logs,
    emit,
    signal,
    placement: async () => placement,
    env: { ...env, ...kept.env, HOME: places.home, TMPDIR: places.tmp },
  }).finally(() => {
    over = true
  })
  await printing
  if (code === 0 && node === 0) kept.finish()
  const message = terminationMessage(code ?? 0, printed.lines)
  if (message !== undefined) writeTermination(message)
  return code
}

type Places = ReturnType<typeof placesBelow>

function placesBelow(root: string) {
  const at = (...path: readonly string[]) => join(root, ...path)
  const work = { job: at('work', 'job'), logs: at('work', 'logs'), home: at('work', 'home'), tmp: at('work', 'tmp') }
  for (const folder of Object.values(work)) mkdirSync(folder, { recursive: true })
  return { ...work, files: at('files'), afs: at('afs') }
}

/** The description beside the job's files, and the files themselves. */
function readJob({ files, afs }: Places): Job {
  const job = JSON.parse(readFileSync(join(files, JOB_FILE), 'utf8')) as Omit<Job, 'files' | 'secrets'>
  // The kubelet keeps several versions of a mounted folder under names that begin with two dots.
  const names = readdirSync(files).filter((name) => name !== JOB_FILE && !name.startsWith('..'))
  return {
    ...job,
    files: names.map((name) => ({ name, content: { path: join(files, name) } })),
    data: outputOf(job.data, afs),
    secrets: { profile: '', env: [] },
  }
}

const JOB_FILE = 'job.json'

/** Data comes by the mounted volume, so only the way back is left: onto the volume, else to the job's file system. */
function outputOf({ fileSystem, output }: JobData, afs: string): JobData {
  if (output === undefined) return {}
  return existsSync(afs) ? { fileSystem: `file://${afs}`, output } : { fileSystem, output }
}

/** The output of the job where it lies on the volume, which outlives pods. */
const keptAt = ({ output }: JobData, { afs }: Places) =>
  output !== undefined && existsSync(afs) ? join(afs, output) : undefined

/** ./afs, and ./train_data and ./test_data as folders of it, or the whole where it has none of that name. */
function linkData({ job, afs }: Places): void {
  if (!existsSync(afs)) return
  const link = (target: string, name: string) => {
    if (!existsSync(join(job, name))) symlinkSync(target, join(job, name))
  }
  link(afs, 'afs')
  for (const name of ['train_data', 'test_data']) link(existsSync(join(afs, name)) ? join(afs, name) : afs, name)
}

/** The end of what was printed, for the message that stays when the pod is gone. */
class LastLines {
  lines: readonly string[] = []

  add(text: string): void {
    this.lines = [...this.lines, ...text.trimEnd().split('\n')].slice(-KEPT_LINES)
  }
}

const KEPT_LINES = 10

async function printAll(texts: AsyncIterable<string>, print: (text: string) => void): Promise<void> {
  // One process prints here, so headings that name it are of no use.
  for await (const text of texts) print(text.replace(/^==> \S+ <==\n/, ''))
}
