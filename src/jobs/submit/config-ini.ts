/** @file config.ini of a submission, the environment of its processes and where its data lies: how it is written, and how it is read again. Pure. */
import { UserError } from '../../base/util/index.ts'
import { reference } from './credentials.ts'
import type { Job, JobData } from './job.ts'

export interface ConfigIni {
  readonly data: JobData
  /** As written: a name of credentials, or the value itself in files of users' own. */
  readonly fsUgi: string | undefined
  /** All other entries. */
  readonly env: Readonly<Record<string, string>>
}

const DATA: Readonly<Record<string, keyof JobData>> = {
  fs_name: 'fileSystem',
  output_path: 'output',
  train_data_path: 'train',
  test_data_path: 'test',
  thirdparty_path: 'thirdparty',
  AFS_REMOTE_MOUNT_POINT: 'mount',
}

/** Without a secret: `fs_ugi` is a name of credentials. */
export function renderConfigIni({ env, data, secrets }: Pick<Job, 'env' | 'data' | 'secrets'>): string {
  const onMpi = env['PADDLEREC_CLUSTER_TYPE'] === 'MPI'
  const lines = [
    '# File system of the job. Secrets are named here and kept in ~/.config/oarfish/credentials.',
    `fs_name=${data.fileSystem ?? ''}`,
    `fs_ugi=${secrets.env.includes('fs_ugi') ? reference(secrets.profile) : ''}`,
    `output_path=${data.output ?? ''}`,
    '',
    ...(onMpi
      ? [
          '# Data, dealt out to ./train_data and ./test_data of the nodes; ./thirdparty is whole on each.',
          'storage_type="hdfs"',
          'force_reuse_output_path="True"',
          `train_data_path=${data.train ?? ''}`,
          `test_data_path=${data.test ?? ''}`,
          `thirdparty_path=${data.thirdparty ?? ''}`,
        ]
      : [
          '# Volume that every pod sees at ./afs/.',
          'mount_afs="true"',
          `AFS_REMOTE_MOUNT_POINT=${data.mount ?? ''}`,
          // Where PaddleCloud's own nodes have it; here it is ./afs/ of the working folder, whatever this says.
          'afs_local_mount_point="/root/paddlejob/workspace/env_run/afs/"',
        ]),
    '',
    '# Environment of every process.',
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
  ]
  return `${lines.join('\n')}\n`
}

export function parseConfigIni(text: string, file: string): ConfigIni {
  const entries = text.split('\n').flatMap((line, i) => {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith('[')) return []
    const at = trimmed.indexOf('=')
    if (at > 0) return [[trimmed.slice(0, at).trim(), unquoted(trimmed.slice(at + 1).trim())] as const]
    throw new UserError(`${JSON.stringify(trimmed)} is no setting.`, {
      code: 'SUBMIT_CONFIG_INI',
      where: { file, line: i + 1 },
      hint: 'Write NAME=value, or # before a comment.',
    })
  })
  const written = Object.fromEntries(entries.filter(([, value]) => value !== ''))
  const data = Object.entries(DATA).flatMap(([name, key]) =>
    written[name] === undefined ? [] : [[key, written[name]]],
  )
  const env = Object.entries(written).filter(([name]) => !(name in DATA) && name !== 'fs_ugi')
  return { data: Object.fromEntries(data), fsUgi: written['fs_ugi'], env: Object.fromEntries(env) }
}

const unquoted = (value: string) => value.replace(/^"(.*)"$/, '$1').replace(/^'(.*)'$/, '$1')
