/** @file Manifests as a person reads them: yaml, without what is secret. Pure. */
import { stringify } from 'yaml'
import type { KubeObject } from '../client.ts'
import type { Rendered } from './render.ts'

/** What `kubectl create -f -` would take, but for the secrets. */
export function manifestText({ support, jobs }: Pick<Rendered, 'support' | 'jobs'>): string {
  return [...support, ...jobs]
    .map((object) => stringify(masked(object), { aliasDuplicateObjects: false, lineWidth: 0 }))
    .join('---\n')
}

function masked(object: KubeObject): KubeObject {
  const { stringData } = object as { readonly stringData?: Readonly<Record<string, string>> }
  if (!stringData) return object
  return { ...object, stringData: Object.fromEntries(Object.keys(stringData).map((key) => [key, '***'])) } as KubeObject
}
