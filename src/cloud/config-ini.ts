/** @file config.ini of a submission: the environment of its processes and where its data lies. Pure. */
import type { JobData } from '../submit/index.ts'
import { UserError } from '../util/index.ts'

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
