/** @file backend.yaml: spellings, defaults, and what is missing for a submission. */
import { describe, expect, test } from 'vitest'
import { formatConfigErrors } from '../problem.ts'
import { parseBackend } from './backend.ts'
import { checkSubmission } from './backend-check.ts'
import { parseRunConfig } from './load.ts'

const FULL = `backend: PaddleCloud
cluster_type: MPI
config:
  fs_name: file:///data
  fs_ugi: user,pwd
  output_path: /out
  train_data_path: /train
  test_data_path: /test
  thirdparty_path: /more
submit:
  ak: a
  sk: s
  files: ./*.py ./*.yaml
  k8s-cpu-cores: 4
`

test('capitals do not count, dashes are underscores, what is not written has its default', () => {
  const { backend } = parseBackend('backend.yaml', FULL.replace('PaddleCloud', 'paddlecloud'))
  expect(backend).toMatchObject({ backend: 'PaddleCloud', cluster_type: 'mpi' })
  expect(backend.submit).toMatchObject({
    k8s_cpu_cores: 4,
    priority: 'high',
    group: 'paddle',
    nodes: 1,
    k8s_ps_cores: 2,
  })
  expect(backend.config.communicator).toMatchObject({
    FLAGS_communicator_thread_pool_size: 32,
    FLAGS_rpc_retry_times: 3,
  })
})

test('an empty group stays empty: defaults are for keys that are not there', () => {
  expect(parseBackend('backend.yaml', `${FULL}  group: ""\n`).backend.submit.group).toBe('')
})

test('only PaddleCloud must say which cluster it is', () => {
  expect(() => parseBackend('backend.yaml', 'backend: PaddleCloud\n')).toThrow(
    /cluster_type: missing, expected mpi \| k8s/,
  )
  expect(parseBackend('backend.yaml', 'backend: mpi\n').backend.cluster_type).toBe('mpi')
})

test('a backend or a key that nobody knows is told with the nearest', () => {
  expect(() => parseBackend('backend.yaml', 'backend: PadleCloud\n')).toThrow(/did you mean "PaddleCloud"/)
  expect(() => parseBackend('backend.yaml', FULL.replace('ak:', 'akk:'))).toThrow(/submit\.akk: unknown key.*"ak"/)
  expect(() => parseBackend('backend.yaml', `${FULL}  k8s_memory: 4gigs\n`)).toThrow(
    /submit\.k8s_memory: expected an amount like `4Gi` or `512Mi`, got "4gigs"/,
  )
  expect(() => parseBackend('backend.yaml', `${FULL}  job_name: my job/1\n`)).toThrow(
    /job_name: expected up to 63 letters/,
  )
})

describe('a submission', () => {
  test('of everything that is needed has no problem', () => {
    expect(submission(FULL)).toEqual({ kind: 'PS_CPU_MPI', problems: [], warnings: [] })
  })

  test.each([
    ['fs_name', 'FS_UGI or FS_NAME'],
    ['fs_ugi', 'FS_UGI or FS_NAME'],
    ['ak', 'AK or SK'],
    ['sk', 'AK or SK'],
    ['files', '-- files --'],
    ['train_data_path', 'TRAIN_DATA_PATH'],
  ])('without %s says so, in the words that are known and with the place', (key, words) => {
    const yaml = FULL.replace(new RegExp(`  ${key}: .*\n`), '')
    const { problems } = submission(yaml)
    expect(problems).toHaveLength(1)
    const text = formatConfigErrors(problems, { file: 'backend.yaml', text: yaml })
    expect(text).toContain(`No ${words.startsWith('--') ? '' : '-- '}${words}`)
    expect(text).toMatch(/^backend\.yaml:\d+:\d+ (config|submit)\./)
    expect(text).toMatch(/fix: insert after line \d+:/)
  })

  test('with several keys empty tells all of them at once', () => {
    const yaml = FULL.replace('ak: a', 'ak: ""').replace('fs_ugi: user,pwd', 'fs_ugi: ""')
    expect(submission(yaml).problems.map(({ key }) => key)).toEqual(['config.fs_ugi', 'submit.ak'])
  })

  test('without paths for output and test data is warned of', () => {
    const { warnings, problems } = submission(FULL.replace(/ {2}(output|test_data)_path: .*\n/g, ''))
    expect(problems).toEqual([])
    expect(warnings).toEqual([
      expect.stringMatching(/^Job output_path not set!/),
      expect.stringMatching(/^Job test_data_path/),
    ])
  })

  test('of an old PaddlePaddle is refused', () => {
    const yaml = FULL.replace('config:\n', 'config:\n  paddle_version: 1.7.1\n')
    expect(submission(yaml).problems).toMatchObject([{ key: 'config.paddle_version' }])
    expect(submission(yaml.replace('1.7.1', '1.10.0')).problems).toEqual([])
  })

  test.each([
    [{ fleet_mode: 'collective', device: 'gpu' }, 'k8s', 'COLLECTIVE_GPU_K8S'],
    [{ fleet_mode: 'collective', device: 'cpu' }, 'k8s', 'COLLECTIVE_CPU_K8S'],
    [{ fleet_mode: 'collective', device: 'cpu' }, 'mpi', 'COLLECTIVE_CPU_MPI'],
    [{ fleet_mode: 'ps', device: 'cpu' }, 'k8s', 'PS_CPU_K8S'],
    [{ class: 'train' }, 'k8s', 'SINGLE_K8S'],
  ])('of a runner with %o on %s is a %s', (keys, cluster, kind) => {
    expect(submission(FULL.replace('MPI', cluster), keys)).toMatchObject({ kind, problems: [] })
  })

  test.each([
    [{ fleet_mode: 'ps', device: 'gpu' }, 'k8s', 'PS-GPU on paddlecloud is not supported at this time'],
    [{ fleet_mode: 'ps', device: 'gpu' }, 'mpi', "Paddlecloud with Mpi don't support GPU training"],
    [{ class: 'train' }, 'mpi', 'set class: cluster_train'],
  ])('of a runner with %o on %s is refused', (keys, cluster, words) => {
    const { kind, problems } = submission(FULL.replace('MPI', cluster), keys)
    expect(kind).toBeUndefined()
    expect(problems.map(({ message }) => message).join()).toContain(words)
  })
})

function submission(yaml: string, keys: Readonly<Record<string, string>> = {}) {
  const runner = { name: 'r', class: 'cluster_train', ...keys }
  const text = `workspace: ./\nmode: r\nrunner: [${JSON.stringify(runner)}]\nphase: [{name: p, model: m.py, dataset_name: d}]\ndataset: [{name: d, batch_size: 2, data_path: x}]\n`
  const { config } = parseRunConfig({ file: 'config.yaml', text, absolute: '/job/config.yaml', cwd: '/job' })
  return checkSubmission(parseBackend('backend.yaml', yaml), config.runner[0]!)
}
