/** @file deploy/kubernetes' job as `kubectl apply` makes it, and the guide's own, which has no Secret. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { V1Pod } from '@kubernetes/client-node'
import { describe, expect, test, vi } from 'vitest'
import { RESOURCES } from '../../src/jobs/kube/index.ts'
import type { Bed } from './bed.testing.ts'

const MANIFEST = fileURLToPath(new URL('../../deploy/kubernetes/ctr-paddlepaddle-on-volcano.yaml', import.meta.url))
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
      }, 90_000)
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
}
