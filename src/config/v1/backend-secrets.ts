/** @file The secrets of a backend.yaml, and its text without them. */
import { replaceValue } from '../edit.ts'
import { findNode } from '../source.ts'
import type { LoadedBackend } from './backend.ts'

const SECRETS = [
  ['submit', 'ak'],
  ['submit', 'sk'],
  ['config', 'fs_ugi'],
] as const

/** The text with `instead` wherever a secret stands; all else, comments included, as it was. */
export function withoutSecrets({ source }: LoadedBackend, instead: string): string {
  return SECRETS.filter((path) => String(findNode(source, path) ?? '').trim() !== '')
    .flatMap((path) => replaceValue(source, path, instead))
    .sort((a, b) => b.from - a.from)
    .reduce((text, { from, to, text: inserted }) => text.slice(0, from) + inserted + text.slice(to), source.text)
}
