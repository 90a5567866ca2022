/** @file The files of a job as ConfigMaps: as many as their sizes need, mounted together as one flat folder. Pure. */
import type { V1ConfigMap, V1Volume } from '@kubernetes/client-node'
import { UserError } from '../../../base/util/index.ts'
import { labelsOf } from './names.ts'

export interface LoadedFile {
  readonly name: string
  readonly content: Buffer
}

/** What the API takes is a little more than this, names and the rest of the object included. */
const MAX_BYTES = 1000 * 1000
/** More is better kept on a volume: every pod reads all of it from the API server's own store. */
const MAX_MAPS = 16

export type ConfigMap = V1ConfigMap & { readonly metadata: { readonly name: string } }

export function configMapsOf(name: string, files: readonly LoadedFile[]): readonly ConfigMap[] {
  for (const file of files) checkFile(file)
  const groups: LoadedFile[][] = []
  let room = 0
  for (const file of files) {
    const bytes = sizeOf(file)
    if (bytes > room) {
      groups.push([])
      room = MAX_BYTES
    }
    groups.at(-1)!.push(file)
    room -= bytes
  }
  if (groups.length > MAX_MAPS) throw tooMuch(files)
  return groups.map((group, i) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-files-${i}`, labels: labelsOf(name) },
    ...contentOf(group),
  }))
}

/** Text stays text, so that a person can read it with kubectl. */
function contentOf(files: readonly LoadedFile[]): Pick<V1ConfigMap, 'data' | 'binaryData'> {
  const text = files.filter(({ content }) => isText(content))
  const binary = files.filter(({ content }) => !isText(content))
  return {
    data: Object.fromEntries(text.map((file) => [file.name, file.content.toString('utf8')])),
    ...(binary.length > 0
      ? { binaryData: Object.fromEntries(binary.map((file) => [file.name, file.content.toString('base64')])) }
      : {}),
  }
}

const isText = (content: Buffer) => !content.includes(0) && Buffer.from(content.toString('utf8')).equals(content)

/** As JSON, in which a binary file is a third larger. */
const sizeOf = ({ name, content }: LoadedFile) =>
  name.length +
  16 +
  (isText(content) ? Buffer.byteLength(JSON.stringify(content.toString('utf8'))) : Math.ceil(content.length / 3) * 4)

export function filesVolume(maps: readonly ConfigMap[]): V1Volume {
  const sources = maps.map(({ metadata }) => ({ configMap: { name: metadata.name } }))
  return { name: 'files', projected: { sources, defaultMode: 0o444 } }
}

function checkFile(file: LoadedFile): void {
  if (!/^[-._a-zA-Z0-9]{1,253}$/.test(file.name))
    throw new UserError(`${file.name} cannot travel to pods by this name.`, {
      code: 'KUBE_FILES',
      hint: 'Rename it: letters, digits, -, _ and . only.',
    })
  if (sizeOf(file) <= MAX_BYTES) return
  throw new UserError(
    `${file.name} has ${file.content.length} bytes; a file that travels to pods may have ${MAX_BYTES}.`,
    {
      code: 'KUBE_FILES',
      hint: 'Put it on the volume of afs_remote_mount_point, or into the image (k8s_image).',
    },
  )
}

function tooMuch(files: readonly LoadedFile[]): UserError {
  const total = files.reduce((sum, { content }) => sum + content.length, 0)
  return new UserError(
    `The ${files.length} files of the job have ${total} bytes, more than ${MAX_MAPS} ConfigMaps hold.`,
    {
      code: 'KUBE_FILES',
      hint: 'Put data on the volume of afs_remote_mount_point, or code into the image (k8s_image).',
    },
  )
}
