/** @file oarfish doctor --kube on a cluster in order, and on others. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { examine } from '../../src/jobs/kube/index.ts'
import type { Bed } from './bed.testing.ts'
import { LONG } from './testbed.testing.ts'

export function doctorTests(bed: () => Bed): void {
  describe('oarfish doctor', () => {
    const findings = async (env: Record<string, string>, namespace = 'default') => {
      const all = []
      for await (const { check, ok, text, fix } of examine({ env, namespace, volcanoNamespace: 'volcano-system' }))
        all.push([check, ok, text, fix] as const)
      return new Map(all.map(([check, ...rest]) => [check, rest] as const))
    }

    test('finds a cluster in order once Volcano has its pods, and says what is missing before', LONG, async () => {
      const before = await findings({ KUBECONFIG: bed().testbed.kubeconfig })
      expect(before.get('volcano')).toEqual([
        false,
        'Volcano has no pods in namespace volcano-system.',
        expect.stringMatching(/^Install it/),
      ])
      expect(before.get('server')).toEqual([
        true,
        expect.stringMatching(/^client: API of Kubernetes 1\.\d+; server: Kubernetes v1\.\d+/),
        undefined,
      ])
      await bed()
        .testbed.kubectl(['create', 'namespace', 'volcano-system'])
        .catch(() => undefined)
      await bed().testbed.kubectl([
        '-n',
        'volcano-system',
        'run',
        'volcano-scheduler',
        '--image=x',
        '--overrides={"spec":{"schedulerName":"volcano"}}',
      ])
      await bed().testbed.kubectl([
        '-n',
        'volcano-system',
        'wait',
        '--for=condition=Ready',
        'pod/volcano-scheduler',
        '--timeout=30s',
      ])
      const after = await findings({ KUBECONFIG: bed().testbed.kubeconfig })
      expect([...after.values()].map(([ok]) => ok)).toEqual([true, true, true, true, true, true, true])
      expect(after.get('volcano')![1]).toBe('1 pods ready in volcano-system')
    })

    test('names the rights that a user lacks', LONG, async () => {
      await bed().testbed.namespace('doctor')
      await bed().testbed.kubectl(['-n', 'doctor', 'create', 'serviceaccount', 'guest'])
      const token = (await bed().testbed.kubectl(['-n', 'doctor', 'create', 'token', 'guest'])).trim()
      const found = await findings({ KUBECONFIG: bed().kubeconfigOf('guest', token) }, 'doctor')
      expect(found.get('rights')).toEqual([
        false,
        expect.stringMatching(/^Missing in namespace doctor: create jobs\.batch\.volcano\.sh, .*get pods\/log/),
        expect.any(String),
      ])
      expect(found.get('nodes')).toEqual([
        false,
        expect.stringMatching(/may not list nodes/),
        expect.stringMatching(/create clusterrole /),
      ])
    })

    test('says that a proxy answered Forbidden in place of the server, and how to do without', LONG, async () => {
      const proxy = createServer().on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'))
      await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const away = join(bed().folder, 'away.json')
      writeFileSync(
        away,
        readFileSync(bed().testbed.kubeconfig, 'utf8').replace(/https:\/\/127\.0\.0\.1/, 'https://cluster.example'),
      )
      const found = await findings({ KUBECONFIG: away, HTTPS_PROXY: url })
      proxy.close()
      expect(found.get('server')).toEqual([
        false,
        expect.stringMatching(
          /^The proxy http:\/\/127\.0\.0\.1:\d+ answered Forbidden for https:\/\/cluster\.example:\d+\.$/,
        ),
        expect.stringMatching(/^Do without it: export NO_PROXY=cluster\.example/),
      ])
      expect(found.get('nodes')![0]).toBeUndefined()
    })
  })
}
