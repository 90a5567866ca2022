/** @file The secrets of a backend.yaml: from the environment where it has none, and its text without them. */
import { replaceValue } from '../edit.ts'
import { deepFreeze } from '../resolve.ts'
import { findNode } from '../source.ts'
import type { Backend, LoadedBackend } from './backend.ts'

const SECRETS = [
  ['submit', 'ak'],
  ['submit', 'sk'],
  ['config', 'fs_ugi'],
] as const

/** With `OARFISH_AK`, `OARFISH_SK` and `OARFISH_FS_UGI` for what is not written. */
export function withSecretsOf(env: Readonly<Record<string, string | undefined>>, loaded: LoadedBackend): LoadedBackend {
  const { submit, config } = loaded.backend
  const backend: Backend = {
    ...loaded.backend,
    submit: { ...submit, ak: submit.ak || (env['OARFISH_AK'] ?? ''), sk: submit.sk || (env['OARFISH_SK'] ?? '') },
    config: { ...config, fs_ugi: config.fs_ugi || (env['OARFISH_FS_UGI'] ?? '') },
  }
  return { ...loaded, backend: deepFreeze(backend) }
}

/** The text with `instead` wherever a secret stands; all else, comments included, as it was. */
export function withoutSecrets({ source }: LoadedBackend, instead: string): string {
  return SECRETS.filter((path) => String(findNode(source, path) ?? '').trim() !== '')
    .flatMap((path) => replaceValue(source, path, instead))
    .sort((a, b) => b.from - a.from)
    .reduce((text, { from, to, text: inserted }) => text.slice(0, from) + inserted + text.slice(to), source.text)
}
