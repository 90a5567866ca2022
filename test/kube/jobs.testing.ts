/** @file Jobs from their submission to their end, by Volcano, by plain Jobs and as PaddleJobs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { V1Pod } from '@kubernetes/client-node'
import { describe, expect, test, vi } from 'vitest'
import { applyJob, deleteJob, type KubeObject, planObjects, RESOURCES } from '../../src/jobs/kube/index.ts'
import type { Job } from '../../src/jobs/submit/index.ts'
import { type Bed, jobOf, nodeOf, pretending, renderOf } from './bed.testing.ts'
import { PADDLEJOB_CRD } from './paddlejob-crd.ts'
import { LONG, SOON } from './testbed.testing.ts'

type VolcanoStatus = { status: { running?: number; retryCount: number } }

export function jobTests(bed: () => Bed): void {
  describe.concurrent('a job', () => {
    test('runs all pods or none, ends with its trainers, and leaves nothing when it is deleted', LONG, async () => {
      const client = await bed().testbed.namespace('whole')
      const { outcome, lines, job } = await bed().run(client, jobOf('whole', { priority: 'normal' }))
      expect(outcome).toEqual({ phase: 'succeeded' })
      expect(lines.join('\n')).toMatch(
        /There is no PriorityClass oarfish-normal\. The job gets the cluster's default priority\./,
      )
      expect(lines.filter((line) => /: running$/.test(line))).toHaveLength(5)
      expect(lines.at(-1)).not.toMatch(/pserver.*failed/)
      await deleteJob(client, job)
      const kinds = ['ConfigMap', 'Secret', 'ServiceAccount', 'Role', 'RoleBinding'] as const
      await vi.waitFor(async () => {
        const left = await Promise.all(
          kinds.map(async (kind) => (await client.list(RESOURCES[kind], { labels: 'oarfish.dev/job' })).items),
        )
        expect(left.flat()).toEqual([])
        // The garbage collector of a cluster that has just met Volcano takes its time.
      }, SOON)
    })

    test('whose pods do not all fit has none of them placed, says why, and runs when a node joins', LONG, async () => {
      const client = await bed().testbed.namespace('gang')
      const roles: Job['roles'] = [
        {
          name: 'trainer',
          replicas: 2,
          resources: { cpu: 3, memory: '1Gi', gpu: { resource: 'example.com/card', cards: 2 } },
        },
      ]
      const withCards = async (name: string, cards: string) =>
        await bed().testbed.kubectl(['create', '-f', '-'], nodeOf(name, { 'example.com/card': cards }))
      await withCards('two-cards-0', '2')
      for (const i of [0, 1]) await withCards(`one-card-${i}`, '1')
      const { outcome, lines } = await bed().run(
        client,
        jobOf('gang', { roles, kind: 'COLLECTIVE_GPU_K8S' }),
        async (said) => {
          await vi.waitFor(() => expect(said.join('\n')).toMatch(/Insufficient example\.com\/card/), SOON)
          const { items } = await client.list<V1Pod>(RESOURCES.Pod)
          expect(items.map(({ spec }) => spec?.nodeName)).toEqual([undefined, undefined])
          await withCards('two-cards-1', '2')
        },
      )
      expect(outcome).toEqual({ phase: 'succeeded' })
      expect(lines.join('\n')).toMatch(
        /The pods cannot be placed: .*Insufficient example\.com\/card\b.*\. Ask for less \(submit\.k8s_cpu_cores, .*\), or wait for other jobs to end\./,
      )
      expect(lines.filter((line) => /on two-cards-\d\): running/.test(line))).toHaveLength(2)
    })

    test('too large for the whole cluster says so before it has pods', LONG, async () => {
      const client = await bed().testbed.namespace('large')
      const roles: Job['roles'] = [{ name: 'trainer', replicas: 600, resources: { cpu: 4, memory: '1Gi' } }]
      const stop = new AbortController()
      const { outcome } = await bed().run(
        client,
        jobOf('large', { roles }),
        async (said) => {
          await vi.waitFor(
            () => expect(said.join('\n')).toMatch(/The pods cannot be placed: .*overused cpu.*Ask for less/),
            SOON,
          )
          stop.abort()
        },
        stop.signal,
      )
      expect(outcome).toBeUndefined()
    })

    test('one of whose pods fails is started again as a whole, maxRetry times, and then tells why', LONG, async () => {
      const namespace = await bed().testbed.namespace('crash')
      const client = pretending(namespace, 'trainer', {
        'testbed/outcome': 'crash',
        'testbed/after': '2s', // long enough to be seen before Volcano takes it away
        'testbed/exit-code': '7',
      })
      const { outcome, lines, status: last } = await bed().run(client, jobOf('crash', {}, { maxRetry: 2 }))
      expect(last?.restarts).toContainEqual({ at: expect.any(Number), reason: expect.stringMatching(/exit code 7/) })
      expect(outcome?.phase).toBe('failed')
      expect(outcome?.reason).toMatch(/^trainer \d ended with exit code 7/)
      // A trainer may end before a server of the same start was seen to run, so the starts are counted and not the servers.
      expect(lines.filter((line) => /^all pods are started again/.test(line))).not.toEqual([])
      const { status } = await client.read<VolcanoStatus>(RESOURCES.VolcanoJob, 'crash')
      expect(status.retryCount).toBe(2)
    })

    test('that is stopped keeps what its pods print until they are gone', LONG, async () => {
      const namespace = await bed().testbed.namespace('stopped')
      const forever = pretending(namespace, 'trainer', { 'testbed/outcome': 'run-forever' })
      const isThere = async (name: string) =>
        (await namespace.list<V1Pod>(RESOURCES.Pod)).items.some(({ metadata }) => metadata?.name === name)
      // Nodes that pretend have no logs: this is what the API gives of a program that says why it ends.
      const logs = async function* (name: string) {
        yield Buffer.from('learning\n')
        await vi.waitFor(async () => expect(await isThere(name)).toBe(false), SOON)
        yield Buffer.from('saved, and ended\n')
      }
      const client = { ...forever, logs: async (name: string) => logs(name) as never }
      const stop = new AbortController()
      const during = async (said: readonly string[]) => {
        await vi.waitFor(
          () => expect(said.filter((line) => /trainer \d .*: running$/.test(line))).toHaveLength(2),
          SOON,
        )
        stop.abort()
      }
      const { outcome, logs: folder } = await bed().run(client, jobOf('stopped'), during, stop.signal)
      expect(outcome).toBeUndefined()
      for (const i of [0, 1])
        expect(readFileSync(join(folder, `trainer.${i}.log`), 'utf8')).toBe('learning\nsaved, and ended\n')
      expect((await namespace.list(RESOURCES.VolcanoJob)).items).toEqual([])
    })

    test('whose pod is evicted starts again and trains to its end', LONG, async () => {
      const namespace = await bed().testbed.namespace('evict')
      const client = pretending(namespace, 'trainer', { 'testbed/outcome': 'run-forever' })
      const { outcome } = await bed().run(client, jobOf('evict'), async (said) => {
        await vi.waitFor(() => expect(said).toContain('job: running'), SOON)
        await vi.waitFor(async () => {
          const { status } = await client.read<VolcanoStatus>(RESOURCES.VolcanoJob, 'evict')
          expect(status.running).toBe(4) // Volcano too has seen all of them run
        }, SOON)
        const eviction = {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name: 'evict-pserver-1', namespace: 'evict' },
        }
        await bed().testbed.kubectl(
          ['create', '--raw', '/api/v1/namespaces/evict/pods/evict-pserver-1/eviction', '-f', '-'],
          eviction,
        )
        // Volcano may make the evicted pod anew before it starts all of them again: only the second start is whole.
        await vi.waitFor(async () => {
          const { status } = await client.read<VolcanoStatus>(RESOURCES.VolcanoJob, 'evict')
          expect(status).toMatchObject({ retryCount: 1, running: 4 })
          const { items } = await client.list<V1Pod>(RESOURCES.Pod)
          expect(
            items.map((pod) => [pod.metadata?.annotations?.['volcano.sh/job-version'], pod.status?.phase]),
          ).toEqual(Array(4).fill(['1', 'Running']))
        }, SOON)
        expect(said.join('\n')).toMatch(/^all pods are started again/m)
        for (const trainer of ['evict-trainer-0', 'evict-trainer-1'])
          await bed().testbed.kubectl([
            '-n',
            'evict',
            'patch',
            'pod',
            trainer,
            '--subresource=status',
            '-p',
            '{"status":{"phase":"Succeeded"}}',
          ])
      })
      expect(outcome).toEqual({ phase: 'succeeded' })
      const { status } = await client.read<VolcanoStatus>(RESOURCES.VolcanoJob, 'evict')
      expect(status.retryCount).toBe(1)
    })

    test('without Volcano is two Indexed Jobs; its servers end with its trainers', LONG, async () => {
      const namespace = await bed().testbed.namespace('plain')
      const client = pretending(namespace, 'trainer', { 'testbed/outcome': 'succeed', 'testbed/after': '500ms' })
      const { outcome, lines } = await bed().run(client, jobOf('plain', {}, { framework: 'job', scheduler: 'volcano' }))
      expect(outcome).toEqual({ phase: 'succeeded' })
      expect(lines.filter((line) => /^trainer [01] .*: succeeded/.test(line))).toHaveLength(2)
      await vi.waitFor(async () => {
        const { items } = await client.list<V1Pod>(RESOURCES.Pod, { labels: 'oarfish.dev/role=pserver' })
        expect(items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined)).toEqual([])
      }, SOON)
    })

    test('as a PaddleJob fits the schema of its operator; without the operator that is said', LONG, async () => {
      const client = await bed().testbed.namespace('paddle')
      const render = { job: jobOf('paddle', {}, { framework: 'paddlejob' }), files: [], version: '0', token: 't' }
      await expect(
        applyJob({ client, objects: planObjects(render), replace: false, say: () => undefined }),
      ).rejects.toMatchObject({
        code: 'KUBE_NO_KIND',
        hint: expect.stringMatching(/PaddlePaddle's operator is not installed/),
      })
      await bed().testbed.kubectl(['create', '-f', '-'], PADDLEJOB_CRD)
      await bed().testbed.kubectl(['wait', '--for=condition=Established', 'crd/paddlejobs.batch.paddlepaddle.org'])
      const said: string[] = []
      const job = await vi.waitFor(
        () => applyJob({ client, objects: planObjects(render), replace: false, say: (line) => said.push(line) }),
        SOON,
      )
      const made = await client.read<KubeObject & { spec: object }>(RESOURCES.PaddleJob, job.name)
      expect(made.spec).toMatchObject({
        ps: { replicas: 2 },
        worker: { replicas: 2 },
        schedulingPolicy: { queue: 'default', minAvailable: 4 },
      })
      const wrong = { ...made, metadata: { name: 'wrong' }, spec: { ...made.spec, workers: {} } }
      await expect(client.create(wrong, { dryRun: true })).rejects.toThrow(/unknown field "spec\.workers"/)
    })

    test('gives its pods an account that may look at pods and do nothing else', LONG, async () => {
      const client = await bed().testbed.namespace('account')
      await applyJob({ client, objects: planObjects(renderOf(jobOf('account'))), replace: false, say: () => undefined })
      const can = async (...words: string[]) => {
        const as = ['--as=system:serviceaccount:account:account', '-n', 'account']
        return (
          await bed()
            .testbed.kubectl(['auth', 'can-i', ...words, ...as])
            .catch(() => 'no')
        ).trim()
      }
      expect([await can('list', 'pods'), await can('watch', 'pods')]).toEqual(['yes', 'yes'])
      expect([
        await can('create', 'pods'),
        await can('get', 'secrets'),
        await can('delete', 'jobs.batch.volcano.sh'),
      ]).toEqual(['no', 'no', 'no'])
    })

    test('carries files, command and secrets as pods expect them', LONG, async () => {
      const client = await bed().testbed.namespace('files')
      const files = [
        { name: 'config.yaml', content: Buffer.from('mode: x\n') },
        { name: 'big.bin', content: Buffer.alloc(700_000, 0) },
      ]
      const render = { ...renderOf(jobOf('files')), files, fsUgi: 'user,password' }
      await applyJob({ client, objects: planObjects(render), replace: false, say: () => undefined })
      const maps = await client.list<KubeObject & { data: Record<string, string> }>(RESOURCES.ConfigMap, {
        labels: 'oarfish.dev/job=files',
      })
      const data = Object.assign({}, ...maps.items.map((map) => map.data))
      expect(data['config.yaml']).toBe('mode: x\n')
      expect(JSON.parse(data['job.json'])).toMatchObject({ command: 'oarfish run -m config.yaml', kind: 'PS_CPU_K8S' })
      const secret = await client.read<{ data: Record<string, string> }>(RESOURCES.Secret, 'files')
      expect(Buffer.from(secret.data['OARFISH_FS_UGI']!, 'base64').toString()).toBe('user,password')
      expect(JSON.stringify(await client.read(RESOURCES.VolcanoJob, 'files'))).not.toContain('password')
    })
  })
}
