/** @file A real control plane with Volcano and nodes that only pretend (tier kwok), where the tool for it lies beside the repository. */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connectKube, type KubeClient } from '../../src/jobs/kube/index.ts'

/** What a cluster does in seconds, a busy machine does in minutes; asking all the time would make it busier. */
export const SOON = { timeout: 180_000, interval: 200 }
/** No test is held to this: it ends one that hangs. */
export const LONG = { timeout: 600_000 }

const TOOL = fileURLToPath(new URL('../../../shared/k8s-testbed/testbed', import.meta.url))

export const hasTestbed = existsSync(TOOL)

export interface Testbed {
  readonly kubeconfig: string
  /** Runs kubectl; `input` is its standard input. */
  kubectl(words: readonly string[], input?: unknown): Promise<string>
  /** A namespace of this name, and a client for it. */
  namespace(name: string): Promise<KubeClient>
  down(): Promise<void>
}

export async function startTestbed(): Promise<Testbed> {
  const dir = mkdtempSync(join(tmpdir(), 'oarfish-kwok-'))
  const { stdout } = await promisify(execFile)(TOOL, ['up', '--tier', 'kwok', '--dir', dir])
  const { kubeconfig, kubectl: program } = JSON.parse(stdout) as { kubeconfig: string; kubectl: string }
  const kubectl = (words: readonly string[], input?: unknown) =>
    run(program, ['--kubeconfig', kubeconfig, ...words], input)
  return {
    kubeconfig,
    kubectl,
    namespace: async (name) => {
      await kubectl(['create', 'namespace', name]).catch(async () => {
        // Left by the first try of a test.
        await kubectl(['delete', 'namespace', name])
        await kubectl(['create', 'namespace', name])
      })
      return await connectKube({ env: { KUBECONFIG: kubeconfig }, namespace: name })
    },
    down: async () => void (await promisify(execFile)(TOOL, ['down', '--dir', dir, '--purge'])),
  }
}

function run(program: string, words: readonly string[], input: unknown): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] })
    const text = { out: '', err: '' }
    child.stdout.on('data', (piece: Buffer) => (text.out += piece))
    child.stderr.on('data', (piece: Buffer) => (text.err += piece))
    child.on('error', fail)
    child.on('close', (code) => (code === 0 ? done(text.out) : fail(new Error(text.err))))
    child.stdin.end(input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input))
  })
}
