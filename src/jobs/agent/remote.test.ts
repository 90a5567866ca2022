/** @file A node that is driven over its standard streams, when whoever drives it goes away. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Job } from '../submit/index.ts'
import { exchanged, type NodeTask, runRemoteNode } from './remote.ts'

const JOB: Job = {
  ...{ name: 'job', group: 'ctr', priority: 'normal', kind: 'PS_CPU_MPI', command: 'exit 0', env: {}, files: [] },
  roles: [
    { name: 'pserver', replicas: 2, resources: {} },
    { name: 'trainer', replicas: 2, resources: {} },
  ],
  data: {},
  secrets: { profile: 'none', env: [] },
} as unknown as Job

test.each(['before it knows who the others are', 'before it asks'])(
  'a node stops when its input ends %s',
  async (when) => {
    const folder = mkdtempSync(join(tmpdir(), 'oarfish-remote-'))
    const input = new PassThrough({ encoding: 'utf8' })
    const task: NodeTask = { job: JOB, jobId: 'job-1', node: 0, nodes: 2, host: '127.0.0.1' }
    input.write(`${JSON.stringify(task)}\n`)
    if (when === 'before it asks') input.end()
    const asked: string[] = []
    const code = await runRemoteNode({
      ...{
        input: linesOf(input),
        folder,
        env: process.env,
        emit: () => undefined,
        signal: new AbortController().signal,
      },
      print: (line) => {
        if (exchanged(line) === undefined) return
        asked.push(line)
        input.end()
      },
    })
    expect(code).toBeUndefined()
    expect(asked).toHaveLength(1)
    rmSync(folder, { recursive: true })
  },
)

async function* linesOf(input: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of input) yield* text.split('\n').filter((line) => line !== '')
}
