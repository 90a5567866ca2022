/** @file Lines that PaddleRec's static_ps_trainer prints besides those of a run of one process. */
import type { Event, EventOf } from './event.ts'

/** What the last line sums up, and what was measured. */
export interface PsSeen {
  readonly job: NonNullable<EventOf<'start'>['job']>
  readonly command: EventOf<'start'>['command']
  readonly useAuc: boolean
  readonly counted: string
  readonly speed: readonly number[]
  readonly auc: readonly number[]
  /** Of the GPU parameter server: which has lines of its own, and rates of each device. */
  readonly gpubox?: { readonly devices: number } | undefined
}

/** Begins at a start event of a job; undefined for a run of one process. */
export function psStart({ job, command, settings }: EventOf<'start'>): PsSeen | undefined {
  if (!job) return undefined
  const counted = String(settings['runner.example_count_method'] ?? 'example')
  const gpubox = settings['runner.sync_mode'] === 'gpubox' ? { devices: 1 } : undefined
  return { job, command, useAuc: settings['runner.use_auc'] === true, counted, speed: [], auc: [], gpubox }
}

const ROLE_NAMES = { worker: 'TRAINER', server: 'PSERVER' } as const
const BEGINNINGS = { worker: 'Run Worker Begin', server: 'Run Server Begin' } as const

/** Lines before those of the event itself, lines after them, and what is known then. */
export function psLines(
  event: Event,
  seen: PsSeen,
): { readonly before: readonly string[]; readonly after: readonly string[]; readonly seen: PsSeen } {
  const { job } = seen
  if (event.kind === 'start') {
    const cpus = job.role === 'worker' ? [`cpu_num: ${job.threads}`] : []
    const mode = seen.gpubox ? ['sync_mode = gpubox', 'end network.....'] : []
    return { before: [`-- Role: ${ROLE_NAMES[job.role]} --`], after: [...cpus, ...mode, BEGINNINGS[job.role]], seen }
  }
  const { gpubox } = seen
  if (gpubox && event.kind === 'forecast') {
    const total = event.estimated ? [] : [`Total example: ${event.samples}`]
    return { before: total, after: [], seen: { ...seen, gpubox: { ...gpubox, devices: event.devices } } }
  }
  const begun = gpubox
    ? event.kind === 'passBegin' && event.pass === 0
    : event.kind === 'epochStart' && event.phase === 'train'
  if (begun)
    return { before: [], after: [`Epoch: ${(event as EventOf<'epochStart'>).epoch}, Running Dataset Begin.`], seen }
  if (event.kind === 'epoch' && event.phase === 'train') {
    const { metrics } = event
    const speed = event.samplesPerSecond / (gpubox?.devices ?? 1)
    const auc = seen.useAuc ? metrics['auc'] : undefined
    const next = { ...seen, speed: [...seen.speed, speed], auc: auc === undefined ? seen.auc : [...seen.auc, auc] }
    return { before: [], after: [epochLine({ ...event, samplesPerSecond: speed }, seen.counted, auc)], seen: next }
  }
  if (gpubox && event.kind === 'saved') return { before: [], after: [`finish ${event.epoch} epoch training....`], seen }
  if (event.kind === 'done') {
    const result = `train_result_dict: ${trainResultDict(seen)}`
    const ended = gpubox ? ['Run Success, Exit.', '-'.repeat(100)] : ['Run Success, Exit.']
    const lines = seen.command === 'train' ? [result, ...ended] : ended
    return { before: [], after: job.role === 'worker' ? lines : [], seen }
  }
  return { before: [], after: [], seen }
}

/** Speed and AUC of each epoch, as Python writes them. */
export function trainResultDict({ speed, auc }: PsSeen): string {
  const list = (values: readonly number[]) => `[${values.join(', ')}]`
  return `{'speed': ${list(speed)}, 'auc': ${list(auc)}}`
}

function epochLine({ epoch, seconds, samplesPerSecond }: EventOf<'epoch'>, counted: string, auc: number | undefined) {
  return auc === undefined
    ? `Epoch: ${epoch}, using time ${seconds} second, ips ${samplesPerSecond} ${counted}/sec.`
    : `Epoch: ${epoch}, using time: ${seconds} second, ips: ${samplesPerSecond} ${counted}/sec. auc: ${auc}`
}
