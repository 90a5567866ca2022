/** @file `oarfish cloud serve --metrics_port`: the job server's metrics at a port of their own. */
import type { JobMetricsOptions } from '../jobs/server/index.ts'
import type { CliIo } from './io.ts'

/** A port in use does not keep jobs from running. */
interface Address {
  readonly host: string
  readonly port: number
}

/** Of `--metrics_port`; what is wrong with it is said before anything is started. */
export async function metricsAddress(asked: string | undefined): Promise<Address | undefined> {
  if (asked === undefined) return undefined
  const { addressOf } = await import('../base/runs/index.ts')
  return addressOf(asked)
}

export async function openCloudMetrics(
  address: Address | undefined,
  options: Omit<JobMetricsOptions, 'host' | 'port'>,
  io: CliIo,
): Promise<{ close(): void } | undefined> {
  if (!address) return undefined
  const { openJobMetrics } = await import('../jobs/server/index.ts')
  try {
    const metrics = await openJobMetrics({ ...address, ...options })
    io.out.write(`Metrics: http://${address.host}:${metrics.port}/metrics\n`)
    return metrics
  } catch (error) {
    io.err.write(`Metrics cannot be had at ${address.host}:${address.port}: ${(error as Error).message}\n`)
    return undefined
  }
}
