/** @file Heavy packages are loaded when they are used, and only then: seen from outside, over all threads of a process. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const HEAVY = ['@kubernetes/client-node', '@opentelemetry', 'hyparquet', 'jiti', 'koffi', 'onnxruntime-node']
const OARFISH = at('../bin/oarfish.js')
const LIBRARY = pathToFileURL(at('../dist/index.js')).href

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-loading-'))
  cpSync(at('fixtures/releases/0.1.0/model'), folder, { recursive: true })
  // Nobody listens there: what matters is that it is asked.
  const cluster = { server: 'http://127.0.0.1:9' }
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'here' },
    clusters: [{ name: 'here', cluster }],
    users: [{ name: 'me', user: {} }],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
  }
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['oarfish --version', [OARFISH, '--version'], []],
  ['oarfish --help', [OARFISH, '--help'], []],
  ["import 'oarfish'", ['--input-type=module', '--eval', `import ${JSON.stringify(LIBRARY)}`], ['hyparquet']],
  ['oarfish check', [OARFISH, 'check', '-m', 'config.yaml'], ['hyparquet', 'jiti']],
  ['oarfish train', [OARFISH, 'train', '-m', 'config.yaml'], ['hyparquet', 'jiti', 'onnxruntime-node']],
  ['oarfish doctor --kube', [OARFISH, 'doctor', '--kube'], ['@kubernetes/client-node']],
])('%s loads what it uses', { timeout: 120_000 }, async (_, args, expected) => {
  expect(await loadedBy(args)).toEqual(expected)
})

async function loadedBy(args: readonly string[]): Promise<readonly string[]> {
  const record = join(folder, 'loaded.txt')
  writeFileSync(record, '')
  const env = {
    ...process.env,
    NODE_OPTIONS: `--import=${pathToFileURL(at('loading.preload.mjs')).href}`,
    OARFISH_TEST_LOADED: record,
    KUBECONFIG: join(folder, 'kubeconfig'),
    XDG_CACHE_HOME: join(folder, 'cache'), // JavaScript that was kept needs no jiti
  }
  // A cluster that does not answer ends with an exit code of its own.
  const { stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder, env }).catch((error) => error)
  expect(stderr).not.toMatch(/internal:|SyntaxError|ERR_/)
  const files = readFileSync(record, 'utf8').replaceAll('\\', '/').split('\n')
  return HEAVY.filter((name) => files.some((file) => file.includes(`/node_modules/${name}/`)))
}
