/** @file What the cluster refuses, before anything is made. */
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import {
  applyJob,
  connectKube,
  deleteJob,
  type KubeClient,
  type KubeObject,
  planObjects,
  RESOURCES,
} from '../../src/jobs/kube/index.ts'
import type { Job } from '../../src/jobs/submit/index.ts'
import { type Bed, jobOf, renderOf } from './bed.testing.ts'
import { LONG, SOON } from './testbed.testing.ts'

const SUBMITTER = fileURLToPath(new URL('../../deploy/kubernetes/submitter.yaml', import.meta.url))
export function refusalTests(bed: () => Bed): void {
  describe.concurrent('what is refused:', () => {
    const refused = async (client: KubeClient, job: Job, error: object) =>
      await expect(
        applyJob({ client, objects: planObjects(renderOf(job)), replace: false, say: () => undefined }),
      ).rejects.toMatchObject(error)

    test('a queue that is not there, with those that are', LONG, async () => {
      const client = await bed().testbed.namespace('queue')
      const hint = expect.stringMatching(
        /^submit\.group names the queue: set it to (ctr or )?default, or make it \(deploy\/kubernetes\/queue\.yaml[\s\S]*kind: Queue\nmetadata:\n {2}name: nobody\n/,
      )
      await refused(client, jobOf('queue', { group: 'nobody' }), {
        code: 'KUBE_QUEUE',
        message: 'There is no queue nobody.',
        hint,
      })
      expect((await client.list(RESOURCES.Secret)).items).toEqual([])
    })

    test('a claim that is not there', LONG, async () => {
      const client = await bed().testbed.namespace('claim')
      const message = 'There is no PersistentVolumeClaim criteo in namespace claim.'
      await refused(client, jobOf('claim', { data: { mount: 'pvc://criteo' } }), { code: 'KUBE_CLAIM', message })
    })

    test('a namespace that is not there', LONG, async () => {
      const client = await connectKube({ env: { KUBECONFIG: bed().testbed.kubeconfig }, namespace: 'nowhere' })
      await refused(client, jobOf('nowhere'), {
        code: 'KUBE_NAMESPACE',
        hint: 'Make it: kubectl create namespace nowhere',
      })
    })

    test('an account that is not there', LONG, async () => {
      const client = await bed().testbed.namespace('noaccount')
      await refused(client, jobOf('x', {}, { serviceAccount: 'nobody' }), { code: 'KUBE_SERVICE_ACCOUNT' })
    })

    test('a pod that no quota lets in; one that the second pod exceeds is told while it waits', LONG, async () => {
      const client = await bed().testbed.namespace('quota')
      const quota = (cpu: string) => ({
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'small', namespace: 'quota' },
        spec: { hard: { 'requests.cpu': cpu } },
      })
      await bed().testbed.kubectl(['apply', '-f', '-'], quota('500m'))
      await vi.waitFor(
        () =>
          refused(client, jobOf('quota'), {
            code: 'KUBE_QUOTA',
            message: expect.stringMatching(/quota small of the namespace is exceeded: a pod asks for requests\.cpu=1/),
          }),
        SOON,
      )
      await bed().testbed.kubectl(['apply', '-f', '-'], quota('1'))
      const stop = new AbortController()
      await vi.waitFor(async () => {
        await bed().run(
          client,
          jobOf('quota', {}, { framework: 'job', scheduler: 'volcano' }),
          async (said) => {
            await vi.waitFor(
              () =>
                expect(said.join('\n')).toMatch(
                  /The quota of the namespace is exceeded \(exceeded quota: small, .*\): ask for fewer/,
                ),
              SOON,
            )
            stop.abort()
          },
          stop.signal,
        )
      }, SOON)
    })

    test('a job of the same name; it is replaced when that is wanted', LONG, async () => {
      const client = await bed().testbed.namespace('twice')
      const render = renderOf(jobOf('Twice'))
      const say = () => undefined
      await applyJob({ client, objects: planObjects(render), replace: false, say })
      const { metadata } = await client.read<KubeObject>(RESOURCES.VolcanoJob, 'twice')
      await refused(client, jobOf('Twice'), {
        code: 'KUBE_EXISTS',
        message: 'There is a job twice in namespace twice already.',
      })
      await applyJob({ client, objects: planObjects(render), replace: true, say })
      expect((await client.read<KubeObject>(RESOURCES.VolcanoJob, 'twice')).metadata.uid).not.toBe(metadata.uid)
      expect((await client.list(RESOURCES.Secret)).items).toHaveLength(1)
    })

    test('nothing that a job has left, whoever removes it first', LONG, async () => {
      const client = await bed().testbed.namespace('leftover')
      const objects = planObjects(renderOf(jobOf('Leftover')))
      const secret = objects.rendered.support.find(({ kind }) => kind === 'Secret')!
      await client.create(secret)
      // The garbage collector deletes what has lost its owner, between the refusal of a second one and its removal.
      const remove: KubeClient['remove'] = async (resource, name) => {
        await client.remove(resource, name)
        await client.remove(resource, name)
      }
      await applyJob({ client: { ...client, remove }, objects, replace: false, say: () => undefined })
      expect((await client.list(RESOURCES.Secret)).items).toHaveLength(1)
    })

    test('a user who lacks a right, which is named with the commands that give it', LONG, async () => {
      await bed().testbed.namespace('rights')
      await bed().testbed.kubectl(['-n', 'rights', 'create', 'serviceaccount', 'intern'])
      const token = (await bed().testbed.kubectl(['-n', 'rights', 'create', 'token', 'intern'])).trim()
      const client = await bed().asUser('intern', token, 'rights')
      await refused(client, jobOf('rights'), {
        code: 'KUBE_FORBIDDEN',
        message: expect.stringMatching(
          /^system:serviceaccount:rights:intern may not create (configmaps|secrets|serviceaccounts|roles\.rbac\.authorization\.k8s\.io) in namespace rights\.$/,
        ),
        hint: expect.stringMatching(
          /kubectl -n rights create role oarfish-create-\w+ --verb=create --resource=[\w.]+\nkubectl -n rights create rolebinding oarfish-create-\w+ --role=oarfish-create-\w+ --serviceaccount=rights:intern/,
        ),
      })
      await bed().testbed.kubectl([
        '-n',
        'rights',
        'create',
        'role',
        'submit',
        '--verb=*',
        '--resource=configmaps,secrets,serviceaccounts,roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,pods',
      ])
      await bed().testbed.kubectl([
        '-n',
        'rights',
        'create',
        'rolebinding',
        'submit',
        '--role=submit',
        '--serviceaccount=rights:intern',
      ])
      await vi.waitFor(
        () =>
          refused(client, jobOf('rights'), {
            message: 'system:serviceaccount:rights:intern may not create jobs.batch.volcano.sh in namespace rights.',
          }),
        SOON,
      )
    })

    test('nobody who has the Role of deploy/kubernetes/submitter.yaml', LONG, async () => {
      const { kubectl, namespace } = bed().testbed
      await namespace('submitter')
      await kubectl(['-n', 'submitter', 'apply', '-f', SUBMITTER])
      await kubectl(['-n', 'submitter', 'create', 'serviceaccount', 'she'])
      const to = ['--role=oarfish-submitter', '--serviceaccount=submitter:she']
      await kubectl(['-n', 'submitter', 'create', 'rolebinding', 'she', ...to])
      const token = (await kubectl(['-n', 'submitter', 'create', 'token', 'she'])).trim()
      const client = await bed().asUser('she', token, 'submitter')
      const { outcome, job } = await bed().run(client, jobOf('hers'))
      expect(outcome).toEqual({ phase: 'succeeded' })
      await deleteJob(client, job)
    })

    test('a token that has expired or is wrong', LONG, async () => {
      const client = await bed().asUser('old', 'not-a-token', 'default')
      await refused(client, jobOf('old'), {
        code: 'KUBE_UNAUTHORIZED',
        message: expect.stringMatching(/wrong or has expired/),
      })
    })
  })
}
