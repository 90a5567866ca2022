/** @file Jobs on this host: all nodes, each in a folder of its own. */
import { nodeCommands, runNodesHere } from '../agent/index.ts'
import { jobSize } from '../submit/index.ts'
import type { Executor } from './executor.ts'
import { jobFolder } from './job-folder.ts'

export const local: Executor<undefined> = {
  kinds: ['_MPI'],
  atOnce: 1,
  resumes: false,
  lookUp: async () => undefined,
  plan: ({ job, folder }) => ({
    steps: Array.from({ length: jobSize(job) }, (_, node) => ({
      kind: 'node',
      node,
      folder: `${jobFolder(folder).work}/node-${node}`,
      commands: nodeCommands(job),
    })),
  }),
  apply: async ({ steps }, { job, folder, env, emit, signal }) => {
    const { logs, work } = jobFolder(folder)
    return await runNodesHere({ job, nodes: steps.length, folder: work, logs, env, emit, signal })
  },
}
