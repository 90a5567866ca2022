/** @file What the first line of a driven node may be: a job in every part that the node uses, and its own place among the others. */
import {
  checkMessage,
  fields,
  KILOBYTE,
  list,
  MEGABYTE,
  number,
  oneOf,
  optional,
  type Reader,
  record,
  text,
  whole,
} from '../../base/net/index.ts'
import { type FileContent, type Job, PERMISSIONS, type RoleSpec } from '../submit/index.ts'
import type { NodeTask } from './remote.ts'

const word = text(4096)
const words = list(word, 1000)
const content = text(256 * MEGABYTE)
/** Nodes of a job, and processes of a role. */
const MOST = 100_000

/** Below the folder of the job, whoever says it. */
const pathBelow: Reader<string> = (value, at) => {
  const path = word(value, at)
  const isBelow = path !== '' && !path.startsWith('/') && !path.split(/[\\/]/).includes('..') && !path.includes('\0')
  checkMessage(isBelow, `${at}: expected a path below the folder of the job`)
  return path
}

const role = fields<RoleSpec>({
  name: oneOf(['pserver', 'trainer']),
  replicas: whole(1, MOST),
  resources: fields<RoleSpec['resources']>({
    cpu: optional(number),
    memory: optional(text(64)),
    gpu: optional(fields<NonNullable<RoleSpec['resources']['gpu']>>({ resource: text(256), cards: whole(1, MOST) })),
  }),
})

const contentFields = fields<{ path: string | undefined; text: string | undefined; base64: string | undefined }>({
  path: optional(word),
  text: optional(content),
  base64: optional(content),
})
/** One of the three. */
const readContent: Reader<FileContent> = (value, at) => {
  const given = contentFields(value, at)
  const present = Object.values(given).filter((each) => each !== undefined)
  checkMessage(present.length === 1, `${at}: expected path, text or base64`)
  return given as FileContent
}

const file = fields<Job['files'][number]>({
  name: pathBelow,
  content: readContent,
})

export const readJob = fields<Job>({
  name: word,
  group: word,
  priority: word as Reader<Job['priority']>,
  kind: text(64, /^[\w/]+$/) as Reader<Job['kind']>,
  roles: list(role, 2),
  command: text(MEGABYTE),
  env: record(text(MEGABYTE), MOST),
  files: list(file, MOST),
  data: fields<Job['data']>({
    fileSystem: optional(word),
    train: optional(word),
    test: optional(word),
    thirdparty: optional(word),
    mount: optional(word),
    output: optional(word),
  }),
  secrets: fields<Job['secrets']>({ profile: word, env: words }),
  pods: optional(
    fields<NonNullable<Job['pods']>>({
      framework: word as Reader<NonNullable<Job['pods']>['framework']>,
      image: optional(word),
      namespace: optional(word),
      scheduler: optional(word),
      serviceAccount: optional(word),
      pullSecrets: optional(words),
      maxRetry: optional(whole(0, MOST)),
    }),
  ),
  wallSeconds: optional(whole(1, Number.MAX_SAFE_INTEGER)),
  permission: optional(oneOf(PERMISSIONS)),
  version: optional(word),
  remark: optional(word),
})

const readFields = fields<NodeTask>({
  job: readJob,
  // It names a folder.
  jobId: text(256, /^[A-Za-z0-9][\w.-]*$/),
  node: whole(0, MOST),
  nodes: whole(1, MOST),
  host: text(512, /^[\w.:[\]-]+$/),
  fsUgi: optional(word),
  uid: optional(text(64, /^[\w-]+$/)),
  places: optional(list(text(64 * KILOBYTE), MOST)),
})

export const readNodeTask: Reader<NodeTask> = (value, at) => {
  const task = readFields(value, at)
  checkMessage(task.node < task.nodes, `${at}.node: expected one of ${task.nodes}, got ${task.node}`)
  return task
}
