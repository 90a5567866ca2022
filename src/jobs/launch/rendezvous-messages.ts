/** @file What launchers say to each other at a master, and what of it is taken. */
import { checkMessage, fields, list, optional, type Reader, text, truth, whole } from '../../base/net/index.ts'
import type { JobNode } from './process-env.ts'

/** What a host brings. */
export interface Joined {
  readonly node: JobNode
  readonly rank?: number | undefined
  /** A name for this joining: several launchers may run on one host. */
  readonly id: string
  /** Of the membership that it was in last. */
  readonly number?: number | undefined
  /** It knows of something to go on from. */
  readonly resumes?: boolean | undefined
}

/** What every host gets: no secret, since all that may have it have it. */
export interface JobPlan {
  readonly nodes: readonly JobNode[]
  readonly ids: readonly string[]
  /** Of this membership. */
  readonly number: number
  /** There is something to go on from: also for hosts that have come since. */
  readonly resumes?: boolean | undefined
}

// More than any job has.
const [MAX_NODES, MAX_PROCESSES, MAX_DEVICES] = [100_000, 1024, 1024]
const MAX_NUMBER = 1_000_000_000

const hostName = text(255, /^(?=.)[\w.:%-]*$/)
const endpoint = text(262, /^[[\]\w.:%-]+:\d{1,5}$/)
const joinId = text(12, /^[0-9a-f]{12}$/)

const readNode: Reader<JobNode> = (value, at) => {
  const node = fields<JobNode>({
    host: hostName,
    endpoints: list(endpoint, MAX_PROCESSES),
    devices: list(list(whole(0, MAX_DEVICES), MAX_DEVICES), MAX_PROCESSES),
  })(value, at)
  checkMessage(node.endpoints.length > 0, `${at}: it has no processes`)
  checkMessage(node.devices.length === node.endpoints.length, `${at}: its lists differ in length`)
  return node
}

export const readJoined = fields<Joined>({
  node: readNode,
  rank: optional(whole(0, MAX_NODES)),
  id: joinId,
  number: optional(whole(0, MAX_NUMBER)),
  resumes: optional(truth),
})
export const readPlan = fields<JobPlan>({
  nodes: list(readNode, MAX_NODES),
  ids: list(joinId, MAX_NODES),
  number: whole(1, MAX_NUMBER),
  resumes: optional(truth),
})
