/** @file Pods in trouble, as nodes report it. */
import { describe, expect, test, vi } from 'vitest'
import { type Bed, jobOf, pretending } from './bed.testing.ts'
import { LONG, SOON } from './testbed.testing.ts'

export function troubleTests(bed: () => Bed): void {
  describe.concurrent('trouble with a pod is one line with the fix:', () => {
    const image = {
      waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "registry.example/none:1"' },
    }
    const memory = { terminated: { reason: 'OOMKilled', exitCode: 137, startedAt: null, finishedAt: null } }
    test.each([
      [
        'image',
        { phase: 'Pending', ...container(image) },
        /^The image registry\.example\/none:1 of trainer 0 cannot be pulled: Back-off .* Check submit\.k8s_image, and name the secret of its registry in submit\.k8s_pull_secrets\.$/,
      ],
      [
        'memory',
        { phase: 'Failed', ...container(memory) },
        /^trainer 0 was killed: it needed more memory than 1Gi \(OOMKilled\)\. Raise submit\.k8s_memory\.$/,
      ],
      [
        'evicted',
        { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
        /^trainer 0 was evicted from its node: The node was low on resource: memory\. All pods are started again/,
      ],
    ])('%s', LONG, async (name, status, line) => {
      const namespace = await bed().testbed.namespace(`trouble-${name}`)
      const client = pretending(namespace, 'trainer', { 'testbed/outcome': 'run-forever' })
      const stop = new AbortController()
      await bed().run(
        client,
        jobOf(name, {}, { image: 'registry.example/none:1' }),
        async (said) => {
          await vi.waitFor(() => expect(said).toContain('job: running'), SOON)
          await bed().testbed.kubectl([
            '-n',
            `trouble-${name}`,
            'patch',
            'pod',
            `${name}-trainer-0`,
            '--subresource=status',
            '-p',
            JSON.stringify({ status }),
          ])
          await vi.waitFor(() => expect(said).toContainEqual(expect.stringMatching(line)), SOON)
          stop.abort()
        },
        stop.signal,
      )
    })
  })
}

const container = (state: object) => ({
  containerStatuses: [{ name: 'trainer', image: 'x', imageID: '', ready: false, restartCount: 0, state }],
})
