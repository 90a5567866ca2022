/** @file Variables that stand above the flags of a collective launch, as in the original. Pure. */
import type { Env } from '../env/index.ts'
import type { CollectiveFlags } from './collective-layout.ts'
import { launchFlagError } from './errors.ts'

const OVERRIDES: { readonly [K in keyof CollectiveFlags]?: string } = {
  host: 'POD_IP',
  master: 'PADDLE_MASTER',
  devices: 'PADDLE_DEVICES',
  nnodes: 'PADDLE_NNODES',
  sort_ip: 'PADDLE_SORT_IP',
  nproc_per_node: 'PADDLE_NPROC_PER_NODE',
  job_id: 'PADDLE_JOB_ID',
  rank: 'PADDLE_RANK',
  max_restart: 'PADDLE_MAX_RESTART',
  elastic_timeout: 'PADDLE_ELASTIC_TIMEOUT',
  start_port: 'PADDLE_START_PORT',
  ips: 'PADDLE_IPS',
}
const NUMBERS = ['nproc_per_node', 'rank', 'max_restart', 'elastic_timeout', 'start_port']

/** The flags with what the environment says instead, and a line for each. */
export function overrideByEnv(flags: CollectiveFlags, env: Env) {
  const found = Object.entries(OVERRIDES).filter(([, name]) => env[name])
  const values = found.map(([flag, name]) => {
    const text = env[name]!
    if (!NUMBERS.includes(flag)) return [flag, text]
    if (!/^\d+$/.test(text)) throw launchFlagError(`${name}: expected a whole number, got "${text}".`)
    return [flag, Number(text)]
  })
  const notices = found.map(
    ([flag, name]) => `LAUNCH WARNING args ${flag} will be overridden by env: ${name} value: ${env[name]}`,
  )
  return { flags: { ...flags, ...Object.fromEntries(values) } as CollectiveFlags, notices }
}
