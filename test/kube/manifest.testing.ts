/** @file What lies in deploy/kubernetes, as `kubectl apply` makes it; and the guide's own job, which has no Secret. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { V1Pod } from '@kubernetes/client-node'
import { describe, expect, test, vi } from 'vitest'
import { RESOURCES } from '../../src/jobs/kube/index.ts'
import type { Bed } from './bed.testing.ts'
import { SOON } from './testbed.testing.ts'

const FOLDER = fileURLToPath(new URL('../../deploy/kubernetes', import.meta.url))
const MANIFEST = `${FOLDER}/ctr-paddlepaddle-on-volcano.yaml`
const TOKEN = /\n {10}envFrom:\n {10}- secretRef: \{ name: ctr-token \}/g

export function manifestTests(bed: () => Bed): void {
  describe.concurrent("the guide's job", () => {
    const podsOf = async (name: string, text: string) => {
      const client = await bed().testbed.namespace(name)
      await bed().testbed.kubectl(['apply', '--namespace', name, '-f', '-'], text)
      return await vi.waitFor(async () => {
        const { items } = await client.list<V1Pod>(RESOURCES.Pod, { labels: 'volcano.sh/job-name=ctr-volcano' })
        expect(items).toHaveLength(4)
        return items.map(({ spec }) => spec!.containers[0]!.envFrom)
      }, SOON)
    }
    const text = readFileSync(MANIFEST, 'utf8')

    test('has its token from a Secret, in every pod', { timeout: 240_000 }, async () => {
      const secret = [{ secretRef: { name: 'ctr-token' } }]
      expect(await podsOf('with-token', text)).toEqual([secret, secret, secret, secret])
    })

    test('is taken as the guide has it, without one', { timeout: 240_000 }, async () => {
      const none = text.replace(TOKEN, '')
      expect(none).not.toContain('ctr-token')
      expect(await podsOf('without-token', none)).toEqual([undefined, undefined, undefined, undefined])
    })
  })

  describe('deploy/kubernetes, as its README types it', () => {
    test('is taken by a cluster, file by file', { timeout: 240_000 }, async () => {
      await bed().testbed.namespace('deployed')
      const files = [
        'pod-reader',
        'submitter',
        'queue',
        'priorities',
        'volumes/nfs',
        'volumes/storage-class',
        'volumes/host-path',
      ]
      for (const file of files) {
        const words = ['apply', '--namespace', 'deployed', '--dry-run=server', '-f', `${FOLDER}/${file}.yaml`]
        expect([file, await bed().testbed.kubectl(words)]).toEqual([file, expect.stringContaining('(server dry run)')])
      }
    })

    test('kubectl apply -k makes the job server with its account', { timeout: 240_000 }, async () => {
      const { kubectl } = bed().testbed
      await kubectl(['apply', '-k', `${FOLDER}/job-server`])
      const image = ['get', 'deployment', 'job-server', '-o', 'jsonpath={.spec.template.spec.containers[0].image}']
      expect(await kubectl(['-n', 'oarfish', ...image])).toMatch(/^localhost\/oarfish:\d/)
      const asServer = ['--as', 'system:serviceaccount:oarfish:job-server']
      expect(await kubectl(['-n', 'oarfish', 'auth', 'can-i', 'create', 'jobs.batch.volcano.sh', ...asServer])).toBe(
        'yes\n',
      )
      await kubectl(['delete', '-k', `${FOLDER}/job-server`, '--wait=false'])
    })
  })
}
