/** @file The cluster of `npm run e2e:k8s`: its kubectl, commands of this package beside it, and waiting for what must happen there. */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

interface Started {
  readonly kubeconfig: string
  readonly kubectl: string
  readonly nodes: readonly string[]
  readonly dir: string
  readonly image: string
}

export const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Undefined outside of `npm run e2e:k8s`. */
export const cluster: Started | undefined = process.env['OARFISH_K8S']
  ? JSON.parse(process.env['OARFISH_K8S'])
  : undefined

const run = promisify(execFile)
const MOST_OUTPUT = { maxBuffer: 64 << 20 }

export async function kubectl(...args: readonly string[]): Promise<string> {
  const words = ['--kubeconfig', cluster!.kubeconfig, '--request-timeout=30s', ...args]
  return (await run(cluster!.kubectl, words, { ...MOST_OUTPUT, timeout: 60_000 })).stdout
}

/** Applies manifests that are written here. */
export function applied(manifest: object): Promise<string> {
  return new Promise((done, fail) => {
    const child = execFile(cluster!.kubectl, ['--kubeconfig', cluster!.kubeconfig, 'apply', '-f', '-'], (error, out) =>
      error ? fail(error) : done(out),
    )
    child.stdin!.end(JSON.stringify(manifest))
  })
}

export interface OarfishOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

/** A command of this package, by a user whose kubeconfig leads to the cluster. */
export async function oarfish(args: readonly string[], { cwd, env }: OarfishOptions): Promise<string> {
  const own = Object.entries(process.env).filter(([name]) => !/^(PADDLE|OARFISH|FLAGS)_/.test(name))
  const all = { ...Object.fromEntries(own), HOME: cwd, KUBECONFIG: cluster!.kubeconfig, ...env }
  const { stdout, stderr } = await run(process.execPath, [at('bin/oarfish.js'), ...args], {
    ...{ ...MOST_OUTPUT, cwd, env: all, timeout: 10 * 60 * 1000 },
  })
  return stdout + stderr
}

/** Looks until there is something to see. */
export async function until<T>(
  what: string,
  timeoutMs: number,
  look: () => Promise<T | undefined | false>,
): Promise<T> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(500)) {
    const seen = await look().catch(() => undefined)
    if (seen) return seen
  }
  const state = await kubectl('get', 'vcjobs,podgroups,pods', '-o', 'wide').catch(String)
  const events = await kubectl('get', 'events', '--sort-by=.lastTimestamp').catch(String)
  throw new Error(`${what}: not after ${timeoutMs / 1000} s\n${state}\n${events.split('\n').slice(-40).join('\n')}`)
}

export const phaseOf = async (job: string) =>
  await kubectl('get', 'vcjob', job, '-o', 'jsonpath={.status.state.phase}').catch(() => '')

export async function completed(job: string, timeoutMs: number): Promise<void> {
  const ended = await until(`${job} completed`, timeoutMs, async () => {
    const phase = await phaseOf(job)
    return ['Completed', 'Failed', 'Aborted', 'Terminated'].includes(phase) && phase
  })
  if (ended !== 'Completed') throw new Error(`${job} is ${ended}: ${await kubectl('get', 'events')}`)
}

/** What the user at the keyboard would do to a pod that has to go. */
export async function evict(pod: string): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: 'default' } }
  await new Promise<void>((done, fail) => {
    const path = `/api/v1/namespaces/default/pods/${pod}/eviction`
    const words = ['--kubeconfig', cluster!.kubeconfig, 'create', '--raw', path, '-f', '-']
    const child = execFile(cluster!.kubectl, words, (error) => (error ? fail(error) : done()))
    child.stdin!.end(JSON.stringify(eviction))
  })
}

export const logOf = (pod: string, ...args: readonly string[]) => kubectl('logs', pod, ...args)
