/** @file The guide's CTR job on a real cluster: by kubectl apply to a trained model, also with a pod lost on the way; a program that crashes. */
import { readFileSync } from 'node:fs'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { applied, at, cluster, completed, evict, kubectl, logOf, phaseOf, until } from './cluster.testing.ts'

const MINUTE = 60_000
const JOB = 'ctr-volcano'
const [TRAINER, OTHER, SERVER] = [`${JOB}-trainer-0`, `${JOB}-trainer-1`, `${JOB}-pserver-0`] as const
const MANIFEST = at('deploy/kubernetes/ctr-paddlepaddle-on-volcano.yaml')
const FIRST_STEP_SECONDS = 15

const lossesOf = (log: string) =>
  [...log.matchAll(/^TRAIN --> pass: \d+ loss: (\S+)/gm)].map(([, loss]) => Number(loss))

/** Passes of the run that a trainer is in. */
const passes = async (count: number, timeoutMs: number) =>
  await until(`${count} passes`, timeoutMs, async () => lossesOf(await logOf(TRAINER)).length >= count)

describe.skipIf(!cluster)('the CTR job of the guide', () => {
  beforeAll(async () => {
    await kubectl('apply', '-f', at('deploy/kubernetes/pod-reader.yaml'))
    await kubectl('delete', 'secret', 'ctr-token', '--ignore-not-found')
    await kubectl('create', 'secret', 'generic', 'ctr-token', '--from-literal=OARFISH_JOB_TOKEN=a-token-of-this-test')
    await prepareNodes()
  }, 3 * MINUTE)
  beforeEach(async () => {
    await kubectl('delete', 'vcjob', JOB, '--ignore-not-found', '--wait=true')
    await until(
      'pods of an earlier test are gone',
      MINUTE,
      async () => !(await kubectl('get', 'pods', '-l', `volcano.sh/job-name=${JOB}`, '-o', 'name')),
    )
  }, 2 * MINUTE)

  test('trains by kubectl apply, and its model predicts', { timeout: 10 * MINUTE }, async () => {
    const begin = Date.now()
    await kubectl('apply', '-f', MANIFEST)
    await until('a training step', 3 * MINUTE, async () => (await logOf(TRAINER)).includes('batch: [0]'))
    const seconds = (Date.now() - begin) / 1000
    console.log(
      `kubectl apply to the first training step: ${seconds.toFixed(1)} s (${FIRST_STEP_SECONDS} s on a quiet machine)`,
    )
    console.log(await kubectl('get', 'pods', '-o', 'wide'))
    await completed(JOB, 8 * MINUTE)
    const logs = await Promise.all([TRAINER, OTHER].map((pod) => logOf(pod)))
    for (const log of logs) {
      const losses = lossesOf(log)
      expect(losses).toHaveLength(10)
      expect(losses.at(-1)!).toBeLessThan(0.9 * losses[0]!)
      expect(log).not.toContain('OARFISH_JOB_TOKEN') // what pods without the Secret say
    }
    console.log(logs[0])
    // Data of /mnt/seqdata, dealt out; the image's own sample has four files.
    expect(logs[0]).toContain('1 of 2 files of /mnt/seqdata')
    expect(await predictions(`/mnt/seqdata/models/pass-9`)).toMatch(/^(0\.\d+\n){20}$/)
  })

  test('whose pod is evicted starts anew and trains to its end', { timeout: 12 * MINUTE }, async () => {
    await kubectl('apply', '-f', MANIFEST)
    await passes(1, 4 * MINUTE)
    await evict(OTHER)
    await until(
      'a restart',
      MINUTE,
      async () => (await kubectl('get', 'vcjob', JOB, '-o', 'jsonpath={.status.retryCount}')) === '1',
    )
    await completed(JOB, 9 * MINUTE)
    const losses = lossesOf(await logOf(TRAINER))
    expect(losses).toHaveLength(10)
    expect(losses.at(-1)!).toBeLessThan(0.9 * losses[0]!)
  })

  test('whose program crashes in its pod is stopped, and its events say why', { timeout: 8 * MINUTE }, async () => {
    await kubectl('apply', '-f', MANIFEST)
    await passes(1, 4 * MINUTE)
    await kubectl('exec', SERVER, '--', 'node', '-e', KILL_TRAINING)
    await until('the end of the job', 2 * MINUTE, async () => (await phaseOf(JOB)) === 'Aborted')
    const messages = await kubectl(
      'get',
      'events',
      '-o',
      'jsonpath={range .items[?(@.reason=="ProgramRestarted")]}{.message}{"\\n"}{end}',
    )
    console.log(messages)
    expect(messages).toContain(`The program of ${SERVER} ended with exit code 137`)
  })
})

/** Ends the program behind paddle_k8s, as the kernel does when memory runs out. */
const KILL_TRAINING = `
  const { readdirSync, readFileSync } = require('node:fs')
  for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
    const line = readFileSync('/proc/' + pid + '/cmdline', 'utf8')
    if (line.includes('oarfish\\0exec')) process.kill(Number(pid), 'SIGKILL')
  }
`

/** As an administrator puts data on nodes: the folder of the guide, two files, and room for models. */
async function prepareNodes(): Promise<void> {
  const script = 'cp /workspace/ctr/raw_data/part-0 /workspace/ctr/raw_data/part-1 /data && chmod -R 777 /data'
  for (const node of cluster!.nodes) await podOn(node, `prepare-${node}`, ['sh', '-c', script], '/data')
}

async function predictions(model: string): Promise<string> {
  const node = await kubectl('get', 'pod', TRAINER, '-o', 'jsonpath={.spec.nodeName}')
  const read = 'head -n 20 raw_data/part-3 | oarfish exec criteo_reader.ts 1000001 > /tmp/lines'
  const script = `cd /workspace/ctr && ${read} && oarfish predict --model ${model} /tmp/lines`
  return await podOn(node, 'predict', ['sh', '-c', script], '/mnt/seqdata')
}

/** Runs a command on one node with the guide's folder of it; resolves to what it printed. */
async function podOn(nodeName: string, name: string, command: readonly string[], mountPath: string): Promise<string> {
  const { volumes } = parse(readFileSync(MANIFEST, 'utf8')).spec.tasks[0].template.spec
  await kubectl('delete', 'pod', name, '--ignore-not-found', '--wait=true')
  const container = { name, image: cluster!.image, command, imagePullPolicy: 'IfNotPresent' }
  await applied({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: {
      ...{ nodeName, restartPolicy: 'Never', volumes },
      containers: [{ ...container, volumeMounts: [{ name: volumes[0].name, mountPath }] }],
    },
  })
  await until(`${name} ended`, 2 * MINUTE, async () => {
    const phase = await kubectl('get', 'pod', name, '-o', 'jsonpath={.status.phase}')
    if (phase === 'Failed') throw new Error(await logOf(name))
    return phase === 'Succeeded'
  })
  return await logOf(name)
}
