/** @file `afs_remote_mount_point` as a volume of pods. Pure. */
import { posix } from 'node:path'
import type { V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import { defined, UserError } from '../../../base/util/index.ts'
import type { JobData } from '../../submit/index.ts'

export const AFS_PATH = '/oarfish/afs'

export interface Mounted {
  readonly volume: V1Volume
  readonly mount: V1VolumeMount
}

/** Undefined where the job has none. */
export function mountOf({ mount, fileSystem }: JobData): Mounted | undefined {
  if (mount === undefined) return undefined
  const [, scheme, rest] = /^([a-z]+):\/\/(.*)$/.exec(mount) ?? [undefined, 'hostpath', below(fileSystem, mount)]
  const form = FORMS[scheme!]
  const found = form?.(rest!)
  if (!found) throw unknownForm(mount)
  const { subPath, ...source } = found
  return {
    volume: { name: 'afs', ...source },
    mount: { name: 'afs', mountPath: AFS_PATH, ...defined({ subPath }) },
  }
}

/** A bare path lies on the job's file system where that is a folder of the nodes. */
function below(fileSystem: string | undefined, path: string): string {
  const root = /^file:\/\/(\/.*)$/.exec(fileSystem ?? '')?.[1] ?? '/'
  return posix.join(root, path)
}

type Source = Omit<V1Volume, 'name'> & { readonly subPath?: string | undefined }

/** Undefined: not of this form. */
const FORMS: Readonly<Record<string, (rest: string) => Source | undefined>> = {
  pvc: (rest) => {
    const [claimName, ...within] = rest.split('/')
    if (!claimName) return undefined
    return { persistentVolumeClaim: { claimName }, subPath: within.join('/') || undefined }
  },
  nfs: (rest) => {
    const [, server, path] = /^([^/]+)(\/.*)$/.exec(rest) ?? []
    return server && path ? { nfs: { server, path } } : undefined
  },
  hostpath: (rest) => (rest.startsWith('/') ? { hostPath: { path: rest, type: 'Directory' } } : undefined),
  csi: (rest) => {
    const [driver, query] = rest.split('?')
    if (!driver || driver.includes('/')) return undefined
    const volumeAttributes = Object.fromEntries(new URLSearchParams(query))
    return { csi: query ? { driver, volumeAttributes } : { driver } }
  },
}

const unknownForm = (mount: string) =>
  new UserError(`afs_remote_mount_point: ${mount} is no volume.`, {
    code: 'KUBE_VOLUME',
    hint: 'Use pvc://CLAIM/FOLDER, nfs://HOST/PATH, csi://DRIVER?ATTRIBUTE=VALUE, or /PATH of every node.',
  })
