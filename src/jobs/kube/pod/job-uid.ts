/** @file Which job a pod is of, however often its pods are made anew: by that the job knows what it has saved itself. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { V1Pod } from '@kubernetes/client-node'
import type { Env } from '../../../base/env/index.ts'
import { UserError } from '../../../base/util/index.ts'
import type { KubeClient } from '../client.ts'
import { RESOURCES } from '../paths.ts'

/** The UID of the Job that made this pod; undefined: nobody makes it again. */
export async function ownerUid(client: Pick<KubeClient, 'list'>, podName: string): Promise<string | undefined> {
  const { items } = await client.list<V1Pod>(RESOURCES.Pod, { fields: `metadata.name=${podName}` })
  const owners = items[0]?.metadata?.ownerReferences ?? []
  return (owners.find(({ controller }) => controller) ?? owners[0])?.uid
}

/** Where a job saves what it goes on from when its pods are made anew. */
export interface KeptFolder {
  readonly env: Env
  /** The job has ended well: what it saved lies in `output` as if it had been written there. */
  finish(): void
}

/** `output`: the job's folder on a volume that its pods share; undefined: it has none, and what a pod saved goes with it. */
export function keptFolder(uid: string | undefined, output: string | undefined): KeptFolder {
  if (uid === undefined) return { env: {}, finish: () => undefined }
  if (output === undefined) return { env: { OARFISH_JOB_UID: uid }, finish: () => undefined }
  const folder = join(output, `.job-${uid}`)
  makeFolder(folder, output)
  return {
    env: { OARFISH_JOB_UID: uid, OARFISH_SAVE_ROOT: folder },
    finish: () => {
      moveInto(folder, output)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function makeFolder(folder: string, output: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    throw new UserError(`The job cannot write to ${output} of its volume: ${(cause as Error).message}.`, {
      code: 'KUBE_VOLUME_WRITE',
      hint: `Pods run as user ${process.getuid?.() ?? 'of the image'}: let that user write there, or name another folder in config.output_path.`,
      cause,
    })
  }
}

/** Folders that are there are filled, files replaced. */
function moveInto(from: string, to: string): void {
  if (!existsSync(from)) return // another pod of the job was first
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory() && existsSync(target)) moveInto(source, target)
    else {
      mkdirSync(dirname(target), { recursive: true })
      renameSync(source, target)
    }
  }
}
