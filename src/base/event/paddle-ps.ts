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
    const envs = seen.gpubox && job.role === 'worker' ? envsTable(event.settings) : []
    const role = `-- Role: ${ROLE_NAMES[job.role]} --`
    return { before: [...envs, role], after: [...cpus, ...mode, BEGINNINGS[job.role]], seen }
  }
  const { gpubox } = seen
  if (gpubox && event.kind === 'forecast')
    return { before: [], after: [], seen: { ...seen, gpubox: { ...gpubox, devices: event.devices } } }
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

const [KEY_WIDTH, VALUE_WIDTH, CUT] = [40, 45, 41]

/** The keys as static_gpubox_trainer shows them: names right-aligned, values centred, long ones by their end. */
function envsTable(settings: Readonly<Record<string, unknown>>): string[] {
  const cells = Object.entries(settings).map(([key, value]) => [key, valueText(value)] as const)
  const width = Math.max(KEY_WIDTH, ...cells.map(([key]) => key.length))
  const line = (key: string, value: string) => `|${key.padStart(width)}|${centred(value)}|`
  const rule = `+${'-'.repeat(width + VALUE_WIDTH + 1)}+`
  return [rule, line('PaddleRec Benchmark Envs', 'Value'), rule, ...cells.map((cell) => line(...cell)), rule]
}

function valueText(value: unknown): string {
  const text =
    value === true ? 'True' : value === false ? 'False' : typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > VALUE_WIDTH ? `... ${text.slice(-CUT)}` : text
}

function centred(text: string): string {
  const left = (VALUE_WIDTH - text.length) >> 1
  return `${' '.repeat(left)}${text}`.padEnd(VALUE_WIDTH)
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
