/** @file The manifests that a person would check before a cluster does. */
import { describe, expect, test } from 'vitest'
import type { JobKind, PodFramework } from '../../../base/config/index.ts'
import type { Job, PodSettings, RoleSpec } from '../../submit/index.ts'
import type { LoadedFile } from './files.ts'
import { configMapsOf } from './files.ts'
import { kubeName, queueOf } from './names.ts'
import { manifestText, renderJob } from './render.ts'
import { mountOf } from './volume.ts'

const FILES: readonly LoadedFile[] = [
  { name: 'config.yaml', content: Buffer.from('mode: [ps_cluster]\n') },
  { name: 'model.ts', content: Buffer.from('export {}\n') },
]

describe('whole manifests', () => {
  test('of a job with servers, by Volcano', () => {
    const rendered = renderJob(options({ data: { mount: 'pvc://criteo/days', output: '/out' } }))
    expect(manifestText(rendered)).toMatchSnapshot()
  })

  test('of a collective job on cards, by Volcano', () => {
    const gpu = { resource: 'nvidia.com/gpu', cards: 1 }
    const roles: readonly RoleSpec[] = [{ name: 'trainer', replicas: 2, resources: { cpu: 4, memory: '8Gi', gpu } }]
    const pods = {
      image: 'registry.example/oarfish:1',
      pullSecrets: ['one', 'two'],
      serviceAccount: 'trainers',
      maxRetry: 0,
    }
    expect(manifestText(renderJob(options({ roles, kind: 'COLLECTIVE_GPU_K8S' }, { ...pods })))).toMatchSnapshot()
  })

  test('of the same by plain Jobs, with a scheduler of their own', () => {
    expect(manifestText(renderJob(options({}, { framework: 'job', scheduler: 'volcano' })))).toMatchSnapshot()
  })

  test('of the same as a PaddleJob', () => {
    expect(manifestText(renderJob(options({}, { framework: 'paddlejob' })))).toMatchSnapshot()
  })
})

test('no secret stands in the text that is shown', () => {
  const text = manifestText(renderJob({ ...options(), fsUgi: 'user,password' }))
  expect(text).not.toMatch(/user,password|the-token/)
  expect(text).toContain('OARFISH_FS_UGI: "***"')
})

test.each([
  ['pvc://claim', { persistentVolumeClaim: { claimName: 'claim' } }, undefined],
  ['pvc://claim/a/b', { persistentVolumeClaim: { claimName: 'claim' } }, 'a/b'],
  ['nfs://10.0.0.1/export/data', { nfs: { server: '10.0.0.1', path: '/export/data' } }, undefined],
  ['/user/data', { hostPath: { path: '/user/data', type: 'Directory' } }, undefined],
  ['hostpath:///srv', { hostPath: { path: '/srv', type: 'Directory' } }, undefined],
  [
    'csi://fuse.example.com?bucket=b',
    { csi: { driver: 'fuse.example.com', volumeAttributes: { bucket: 'b' } } },
    undefined,
  ],
])('afs_remote_mount_point %s is a volume', (mount, source, subPath) => {
  expect(mountOf({ mount })).toEqual({
    volume: { name: 'afs', ...source },
    mount: { name: 'afs', mountPath: '/oarfish/afs', ...(subPath && { subPath }) },
  })
})

test('a path of the job lies below its file system where that is a folder', () => {
  expect(mountOf({ mount: '/train', fileSystem: 'file:///data' })?.volume.hostPath?.path).toBe('/data/train')
})

test.each(['gs://bucket', 'pvc://', 'nfs://host', 'hostpath://relative', 'csi://driver/x'])(
  '%s is refused with the forms that there are',
  (mount) => {
    expect(() => mountOf({ mount })).toThrow(expect.objectContaining({ code: 'KUBE_VOLUME' }))
  },
)

describe('files', () => {
  test('are spread over as many ConfigMaps as they need, binary ones as such', () => {
    const large = { name: 'large.txt', content: Buffer.alloc(900_000, 'a') }
    const binary = { name: 'x.bin', content: Buffer.from([0, 255, 1]) }
    const maps = configMapsOf('job', [large, { ...large, name: 'second.txt' }, binary])
    expect(maps.map(({ metadata }) => metadata.name)).toEqual(['job-files-0', 'job-files-1'])
    expect(maps[1]).toMatchObject({ binaryData: { 'x.bin': 'AP8B' } })
  })

  test('too large for one, or for all, are refused with where to put them', () => {
    expect(() => configMapsOf('job', [{ name: 'data', content: Buffer.alloc(1_000_001, 'a') }])).toThrow(
      /data has 1000001 bytes/,
    )
    const many = Array.from({ length: 17 }, (_, i) => ({ name: `f${i}`, content: Buffer.alloc(900_000, 'a') }))
    expect(() => configMapsOf('job', many)).toThrow(/more than 16 ConfigMaps hold/)
    expect(() => configMapsOf('job', [{ name: 'a b', content: Buffer.alloc(1) }])).toThrow(/a b cannot travel/)
  })
})

test('names become those of Kubernetes, long ones stay apart', () => {
  expect(kubeName('PaddleRec_CTR')).toBe('paddlerec-ctr')
  expect(kubeName('9.lives')).toBe('job-9-lives')
  const [a, b] = [kubeName(`${'x'.repeat(60)}_1`), kubeName(`${'x'.repeat(60)}_2`)]
  expect(a).not.toBe(b)
  expect(a.length).toBeLessThanOrEqual(48)
  expect(queueOf('')).toBe('default')
  expect(queueOf('My_Team')).toBe('my-team')
})

function options(change: Partial<Job> = {}, pods: Partial<PodSettings> & { framework?: PodFramework } = {}) {
  const kind: JobKind = 'PS_CPU_K8S'
  const job: Job = {
    name: 'PaddleRec_CTR',
    group: 'ctr',
    priority: 'very_high',
    kind,
    roles: [
      { name: 'pserver', replicas: 2, resources: { cpu: 4, memory: '4Gi' } },
      { name: 'trainer', replicas: 2, resources: { cpu: 4, memory: '4Gi' } },
    ],
    command: 'oarfish run -m ./config.yaml',
    env: { CPU_NUM: '1', PADDLEREC_CLUSTER_TYPE: 'K8S' },
    files: [],
    data: {},
    secrets: { profile: 'ctr', env: [] },
    pods: { framework: 'volcano', ...pods },
    ...change,
  }
  return { job, files: FILES, version: '0.1.0', token: 'the-token' }
}
