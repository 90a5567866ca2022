/** @file The Helm chart, installed, changed and taken back on a real control plane; its pod only pretends to run. */
import { describe, expect, test } from 'vitest'
import { CHART, helm, lacksHelm } from '../helm.testing.ts'
import type { Bed } from './bed.testing.ts'

if (lacksHelm) console.warn(`the chart is not installed anywhere: ${lacksHelm}`)

export function chartTests(bed: () => Bed): void {
  // Where CI runs, no test of this suite may be skipped, and helm is not among what it has: test/deploy.test.ts shows the skip.
  if (lacksHelm) return
  describe('the Helm chart', () => {
    test('gives the job server its rights, a queue for each group, and is taken back whole', {
      timeout: 240_000,
    }, async () => {
      const { kubeconfig, kubectl, namespace } = bed().testbed
      await namespace('chart')
      const where = ['--kubeconfig', kubeconfig, '--namespace', 'chart']
      // Those belong to the whole cluster, and other tests have made some.
      const values = ['--set', 'priorities=false,queues={Chart_Team},podReader=true']
      const notes = helm('install', 'oarfish', CHART, ...where, ...values)
      expect(notes).toContain('kubectl -n chart exec deploy/job-server -- oarfish cloud group add Chart_Team --quota 8')
      const get = async (kind: string, name: string, path: string) =>
        await kubectl(['-n', 'chart', 'get', kind, name, '-o', `jsonpath={${path}}`])
      expect(await get('deployment', 'job-server', '.spec.template.spec.serviceAccountName')).toBe('job-server')
      expect(await get('queues.scheduling.volcano.sh', 'chart-team', '.spec.weight')).toBe('1')
      const may = async (account: string, ...words: readonly string[]) =>
        await kubectl([
          '-n',
          'chart',
          'auth',
          'can-i',
          ...words,
          '--as',
          `system:serviceaccount:chart:${account}`,
        ]).catch((error: Error) => error.message)
      expect(await may('job-server', 'create', 'jobs.batch.volcano.sh')).toMatch(/^yes/)
      expect(await may('job-server', 'delete', 'deployments.apps')).not.toMatch(/^yes/)
      expect(await may('default', 'list', 'pods')).toMatch(/^yes/)

      helm('upgrade', 'oarfish', CHART, ...where, '--reuse-values', '--set', 'tls.secretName=keys,service.port=443')
      expect(await get('service', 'job-server', '.spec.ports[0].port')).toBe('443')
      expect(await get('deployment', 'job-server', '.spec.template.spec.containers[0].command')).toContain(
        '/tls/tls.key',
      )

      helm('uninstall', 'oarfish', ...where)
      expect(await kubectl(['-n', 'chart', 'get', 'deployment,service,role,rolebinding', '-o', 'name'])).toBe('')
      // Jobs and accounts are not thrown away with the release.
      expect(await kubectl(['-n', 'chart', 'get', 'pvc', '-o', 'name'])).toBe('persistentvolumeclaim/job-server\n')
    })

    test('has the priorities that submit.priority names', { timeout: 120_000 }, async () => {
      const rendered = helm('template', 'oarfish', CHART, '--show-only', 'templates/priorities.yaml')
      const made = await bed().testbed.kubectl(['apply', '--dry-run=server', '-f', '-', '-o', 'name'], rendered)
      expect(made.match(/oarfish-(normal|high|very-high)$/gm)).toHaveLength(3)
    })
  })
}
