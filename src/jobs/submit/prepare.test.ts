/** @file A submission: what is taken, what is rendered, and that no secret is in it. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadRunConfig, parseBackend } from '../../base/config/index.ts'
import { findCredentials, saveCredentials } from './credentials.ts'
import { takeFiles } from './files.ts'
import { prepare } from './prepare.ts'
import { describePlan, submit } from './submit.ts'

const CONFIG = `workspace: "./"
mode: [ps_cluster]
runner:
- name: ps_cluster
  class: cluster_train
  fleet_mode: ps
  device: cpu
dataset:
- {name: d, batch_size: 2, data_path: "{workspace}/train_data"}
phase:
- {name: phase1, model: "{workspace}/model.py", dataset_name: d, thread_num: 3}
`
const BACKEND = `backend: PaddleCloud
cluster_type: mpi
config:
  fs_name: "hdfs://name#node&1:9870" # the cluster's
  fs_ugi: "usr,pass\\\\word"
  train_data_path: /user/train
  output_path: /user/out
submit:
  ak: "access-key-1"
  sk: "secret-key-1"
  job_name: CTR
  start_cmd: "python -m paddlerec.run -m ./config.yaml"
  files: ./*.py ./*.yaml
  nodes: 2
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'submit-'))
  writeFileSync(join(folder, 'config.yaml'), CONFIG)
  writeFileSync(join(folder, 'backend.yaml'), BACKEND)
  writeFileSync(join(folder, 'model.ts'), '')
  writeFileSync(join(folder, 'reader.py'), '')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the folder of a submission', () => {
  test('has the hooks, config.ini and job.sh', () => {
    const texts = Object.fromEntries(prepared().plan.files.map(({ path, text }) => [path.split('/').at(-1), text]))
    expect(prepared().plan.folder).toBe(join(folder, 'CTR_202007091308'))
    expect(Object.keys(texts)).toEqual(['backend.yaml', 'before_hook.sh', 'config.ini', 'end_hook.sh', 'job.sh'])
    expect(texts['config.ini']).toMatchSnapshot()
    expect(texts['job.sh']).toMatchSnapshot()
    expect(texts['before_hook.sh']).toMatchSnapshot()
  })

  test('takes the config, the Python files and the TypeScript beside them, and leaves backend.yaml here', () => {
    expect(prepared().job.files.map(({ name }) => name)).toEqual(['config.yaml', 'reader.py', 'model.ts'])
  })

  test('leaves the backend.yaml of another cluster here too, and says so', () => {
    writeFileSync(join(folder, 'backend_k8s.yaml'), BACKEND.replace('mpi', 'k8s'))
    writeFileSync(join(folder, 'words.yaml'), 'backend: it is not\n')
    const { job, warnings } = prepared()
    expect(job.files.map(({ name }) => name)).toEqual(['config.yaml', 'reader.py', 'model.ts', 'words.yaml'])
    expect(warnings).toContain('backend_k8s.yaml is a backend.yaml too and stays here: it may hold keys')
  })

  test('holds no secret, and --dry-run shows none', () => {
    const one = prepared()
    const all = [...one.plan.files.map(({ text }) => text), describePlan(one), JSON.stringify(one.job)].join('\n')
    expect(all).not.toMatch(/access-key-1|secret-key-1|pass\\?\\?word/)
    expect(all).toContain(`ak: "credentials:${one.job.secrets.profile}"`)
    expect(one.credentials).toEqual({ ak: 'access-key-1', sk: 'secret-key-1', fs_ugi: 'usr,pass\\word' })
  })

  test('has its backend as backend.yaml, which stays here, whatever the name of that given', () => {
    const { plan } = prepared(BACKEND, { backendFile: 'other.yaml' })
    expect(plan.files[0]!.path).toBe(join(plan.folder, 'backend.yaml'))
  })

  test('a config of another name is the one that runs, also beside a config.yaml', () => {
    writeFileSync(join(folder, 'my long.yaml'), CONFIG)
    const backend = BACKEND.replace(/ +start_cmd.*\n/, '')
    expect(prepared(backend, { path: 'my long.yaml' }).job.command).toBe("oarfish run -m 'my long.yaml'")
    expect(prepared(backend).job.command).toBe('oarfish run -m config.yaml')
    mkdirSync(join(folder, 'sub'))
    writeFileSync(join(folder, 'sub/config.yaml'), CONFIG)
    expect(() => prepared(backend, { path: 'sub/config.yaml' })).toThrow(/have the same name/)
  })

  test('can be submitted again with its own backend.yaml, whose credentials are names', () => {
    const text = prepared().plan.files.find(({ path }) => path.endsWith('backend.yaml'))!.text
    const again = prepared(text)
    expect(again.credentials).toBeUndefined()
    expect(again.job.secrets.profile).toBe(prepared().job.secrets.profile)
  })

  test('every script is one that dash takes', () => {
    for (const { path, text } of prepared().plan.files.filter(({ path: name }) => name.endsWith('.sh'))) {
      writeFileSync(path.replace(/.*\//, `${folder}/`), text)
      execFileSync('sh', ['-n', path.replace(/.*\//, `${folder}/`)])
    }
  })

  test('describes servers and trainers, threads and the translated command', () => {
    const { job } = prepared()
    expect(job).toMatchObject({ kind: 'PS_CPU_MPI', command: 'oarfish run -m ./config.yaml' })
    expect(job.roles).toEqual([
      { name: 'pserver', replicas: 2, resources: {} },
      { name: 'trainer', replicas: 2, resources: {} },
    ])
    expect(job.env).toMatchObject({ CPU_NUM: '3', FLAGS_communicator_send_queue_size: '3' })
  })
})

describe('files', () => {
  test('a pattern that matches neither Python nor TypeScript is an error', () => {
    expect(() => takeFiles('./*.py ./lib_*.py', folder)).toThrow(/nothing matches \.\/lib_\*\.py in .*, nor with \.ts/)
  })

  test('more files than a job may have are counted before any is looked at', () => {
    mkdirSync(join(folder, 'many'))
    for (let i = 0; i <= 10_000; i++) writeFileSync(join(folder, `many/${i}`), '')
    expect(() => takeFiles('many/*', folder)).toThrow(/submit\.files matches 10001 files; a job may have 10000/)
  })

  test('two files of one name cannot lie in one flat folder', () => {
    mkdirSync(join(folder, 'more'))
    writeFileSync(join(folder, 'more/reader.py'), '')
    expect(() => takeFiles('*.py more/*', folder)).toThrow(/reader\.py and more\/reader\.py have the same name/)
  })

  test('folders are passed over and named, hidden files need a dot', () => {
    mkdirSync(join(folder, 'data'))
    writeFileSync(join(folder, '.hidden'), '')
    const { files, notices } = takeFiles('./*', folder)
    expect(files.map(({ path }) => path)).toEqual(['backend.yaml', 'config.yaml', 'model.ts', 'reader.py'])
    expect(notices).toEqual([expect.stringMatching(/^data is a folder/)])
  })
})

test('a signal stops what job.sh runs, and its end is waited for', async () => {
  const script = 'trap "echo saving; sleep 0.3; echo saved; exit 130" INT; echo runs; while :; do sleep 0.05; done'
  const one = prepared()
  const files = one.plan.files.map((file) => (file.path.endsWith('/job.sh') ? { ...file, text: script } : file))
  let [text, interrupt] = ['', (_signal: NodeJS.Signals): void => undefined]
  const ended = submit(
    { ...one, plan: { ...one.plan, files } },
    {
      ...{ cwd: folder, env: process.env, credentialsFile: join(folder, 'credentials'), isInteractive: false },
      out: (piece) => {
        text += piece
        if (piece.includes('runs')) interrupt('SIGINT')
      },
      onSignal: (listener) => {
        interrupt = listener
        return () => undefined
      },
    },
  )
  await expect(ended).rejects.toThrow('exit code 130')
  expect(text).toMatch(/saving\nsaved\n$/)
})

describe('credentials', () => {
  test('are kept by name in a file that only its owner can read', async () => {
    const file = join(folder, 'home/oarfish/credentials')
    await saveCredentials(file, 'a', { ak: '1', sk: 'x=y' })
    await saveCredentials(file, 'b', { fs_ugi: 'user,pw' })
    await saveCredentials(file, 'a', { ak: '2', sk: 'z' })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await findCredentials(file, 'a')).toEqual({ ak: '2', sk: 'z' })
    expect(await findCredentials(file, 'b')).toEqual({ fs_ugi: 'user,pw' })
    await expect(findCredentials(file, 'c')).rejects.toThrow(/no credentials called c/)
    expect(readFileSync(file, 'utf8')).toContain('[b]\nfs_ugi=user,pw\n')
  })
})

function prepared(backend = BACKEND, { path = 'config.yaml', backendFile = 'backend.yaml' } = {}) {
  const config = loadRunConfig({ path, cwd: folder })
  const loaded = parseBackend('backend.yaml', backend)
  const now = new Date(2020, 6, 9, 13, 8)
  const [one] = prepare({ config, backend: loaded, backendFile, cwd: folder, version: '0.1.0', now })
  return one!
}
