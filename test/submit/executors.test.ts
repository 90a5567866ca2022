/** @file Every executor keeps the contract; what is printed for each is here to be read. */

import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { EXECUTOR_NAMES } from '../../src/jobs/executors/index.ts'
import type { DescribedJob } from '../../src/jobs/submit/index.ts'
import { type Call, type Cluster, testExecutor } from '../contracts/executor.ts'

const VERSION = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version as string

const job = (kind: DescribedJob['kind'], command = "tool 'two words'"): DescribedJob => ({
  ...{ name: 'ctr', group: 'default', priority: 'high', kind, command, env: { COLOUR: 'blue' }, data: {} },
  roles: [
    ...(kind.startsWith('PS_') ? [{ name: 'pserver', replicas: 2, resources: {} } as const] : []),
    { name: 'trainer', replicas: 2, resources: {} },
  ],
  pods: kind.endsWith('_K8S') ? { framework: 'volcano' } : undefined,
})

const OPEN_MPI = `case "$1" in --version) echo 'mpirun (Open MPI) 4.1.4'; exit 0;; esac\ninput=$(cat)\nRECORD`
const MPICH = `case "$1" in --version) echo 'HYDRA build details:'; exit 0;; esac\ninput=$(cat)\nRECORD`
const all = (calls: readonly Call[]) => calls

/** Without what a rank does to find this package. */
const short = (text: string) =>
  text.replaceAll('--allow-run-as-root ', '').replaceAll(/sh -c 'for found.*?exit 127' [\d.]+/g, 'FIND')

testExecutor({
  name: 'local',
  what: 'all nodes on this host',
  job: job('PS_CPU_MPI'),
  programs: { tool: 'input=\nRECORD' },
  calls: all,
  printed: (text) =>
    expect(text).toMatchInlineSnapshot(`
    "mkdir -p JOB/work/node-0 # node 0
    cd JOB/work/node-0 && sh -c 'tool '\\''two words'\\'''
    cd JOB/work/node-0 && sh -c 'tool '\\''two words'\\'''
    mkdir -p JOB/work/node-1 # node 1
    cd JOB/work/node-1 && sh -c 'tool '\\''two words'\\'''
    cd JOB/work/node-1 && sh -c 'tool '\\''two words'\\'''
    "
  `),
})

testExecutor({
  name: 'mpi',
  what: 'Open MPI, servers and trainers',
  job: job('PS_CPU_MPI'),
  programs: { mpirun: OPEN_MPI },
  hostfile: 'a slots=1\nb slots=1\n',
  calls: all,
  printed: (text) =>
    expect(short(text)).toMatchInlineSnapshot(`
      "mpirun -np 2 --oversubscribe --hostfile 'ROOT/the hosts' --map-by node -x PATH -x OARFISH_JOB_ID -x OARFISH_FS_UGI FIND cloud node --step prepare # it reads the job from its input
      mpirun -np 2 --oversubscribe --hostfile 'ROOT/the hosts' --map-by node -x PATH -x OARFISH_JOB_ID -x OARFISH_FS_UGI FIND cloud node --step train # again, from the last cut, where a rank dies
      mpirun -np 2 --oversubscribe --hostfile 'ROOT/the hosts' --map-by node -x PATH -x OARFISH_JOB_ID -x OARFISH_FS_UGI FIND cloud node --step finish # also after a failure
      "
    `),
})

testExecutor({
  name: 'mpi',
  what: 'Open MPI, a collective job',
  job: job('COLLECTIVE_CPU_MPI'),
  programs: { mpirun: OPEN_MPI },
  calls: all,
  printed: (text) =>
    expect(short(text)).toMatchInlineSnapshot(`
    "mpirun -np 2 --oversubscribe -x PATH -x OARFISH_JOB_ID -x OARFISH_FS_UGI FIND cloud node --step prepare # it reads the job from its input
    mpirun -np 2 --oversubscribe -x PATH -x OARFISH_JOB_ID -x OARFISH_FS_UGI FIND cloud node --step train # again, from the last cut, where a rank dies
    mpirun -np 2 --oversubscribe -x PATH -x OARFISH_JOB_ID -x OARFISH_FS_UGI FIND cloud node --step finish # also after a failure
    "
  `),
})

testExecutor({
  name: 'mpi',
  what: 'MPICH, a collective job',
  job: job('COLLECTIVE_CPU_MPI'),
  programs: { mpirun: MPICH },
  hostfile: 'a\nb\n',
  calls: all,
  printed: (text) =>
    expect(short(text)).toMatchInlineSnapshot(`
      "mpirun -n 2 -f 'ROOT/the hosts' -ppn 1 -genvlist PATH,OARFISH_JOB_ID,OARFISH_FS_UGI FIND cloud node --step prepare # it reads the job from its input
      mpirun -n 2 -f 'ROOT/the hosts' -ppn 1 -genvlist PATH,OARFISH_JOB_ID,OARFISH_FS_UGI FIND cloud node --step train # again, from the last cut, where a rank dies
      mpirun -n 2 -f 'ROOT/the hosts' -ppn 1 -genvlist PATH,OARFISH_JOB_ID,OARFISH_FS_UGI FIND cloud node --step finish # also after a failure
      "
    `),
})

testExecutor({
  name: 'slurm',
  what: 'a batch job',
  job: job('PS_CPU_MPI'),
  programs: {
    sbatch: "input=$(cat)\nRECORD\necho '7;cluster'",
    scontrol: 'echo "JobId=7 JobState=COMPLETED Reason=None ExitCode=0:0 NodeList=n1"',
    scancel: ':',
  },
  calls: all,
  printed: (text) =>
    expect(text).toMatchInlineSnapshot(`
    "sbatch --parsable --job-name=ctr --nodes=2 --ntasks-per-node=1 --output=JOB/logs/slurm.0.log --open-mode=append --no-requeue --comment=JOB <<'END'
    #!/bin/sh
    exec oarfish cloud ranks JOB
    END
    "
  `),
})

testExecutor({
  name: 'ssh',
  what: 'two hosts',
  job: job('PS_CPU_MPI'),
  hostfile: '# ours\nroot@a:2222 slots=1\nb\nc\n',
  programs: {
    // The connection itself, and what is asked over it, happen here.
    ssh: 'input=\nRECORD\nfor last; do :; done\ncase "$last" in exec*) eval "$last";; esac',
    oarfish: `case "$1" in
cluster-host) echo '{"hello":{"version":"${VERSION}","node":"v20","address":"127.0.0.1","home":"/"}}'; cat > /dev/null;;
agent) read -r task; case "$task" in *secret-word*) exit 0;; esac; exit 3;;
esac`,
  },
  // Each host has a connection and a service before the node is started there; settings of the connection are its own.
  calls: (calls) =>
    calls
      .filter(({ words }) => words.at(-1)!.includes('agent'))
      .map(({ words, input }) => {
        const own = words.filter((word, i) => word !== '-T' && word !== '-o' && words[i - 1] !== '-o')
        return { words: [...own.slice(0, -1), 'oarfish', 'agent', 'ssh'], input }
      })
      .sort((a, b) => (a.words.join() < b.words.join() ? -1 : 1)), // hosts are started at once
  printed: (text) =>
    expect(text).toMatchInlineSnapshot(`
    "ssh -p 2222 root@a oarfish agent ssh # node 0; it reads the job from its input
    ssh b oarfish agent ssh # node 1; it reads the job from its input
    "
  `),
})

testExecutor({
  name: 'kubernetes',
  what: 'a job of Volcano',
  job: job('PS_CPU_K8S'),
  cluster: fakeCluster,
  calls: all,
  printed: (text) => expect(text).toMatch(/^kind: Job\nmetadata:\n {2}name: ctr-job-1\n/m),
})

test('there is a contract test for every executor', () => {
  expect(EXECUTOR_NAMES).toEqual(['local', 'mpi', 'slurm', 'ssh', 'kubernetes'])
})

interface Made {
  readonly kind: string
  readonly metadata: Record<string, unknown>
  readonly stringData?: Record<string, string>
}

/** The API of a cluster that takes everything, and on which a job is done as soon as it is there. */
async function fakeCluster(folder: string): Promise<Cluster> {
  const made: Made[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://cluster')
    const answer = (value: unknown) => void response.end(JSON.stringify(value))
    if (url.searchParams.has('watch')) return void response.writeHead(200).flushHeaders()
    if (request.method === 'POST') {
      const object = (await json(request)) as Made
      if (!url.searchParams.has('dryRun')) made.push(object)
      return answer({ ...object, metadata: { ...object.metadata, uid: 'u1' } })
    }
    const jobs = made.filter(({ kind }) => kind === 'Job' && url.pathname.endsWith('/jobs'))
    const items = jobs.map((object) => ({
      ...object,
      metadata: { ...object.metadata, uid: 'u1' },
      status: { state: { phase: 'Completed' } },
    }))
    answer({ metadata: { resourceVersion: '1' }, items })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const file = join(folder, 'kubeconfig')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const cluster = { server: address, 'insecure-skip-tls-verify': true }
  const context = { cluster: 'c', user: 'u' }
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x', users: [{ name: 'u', user: {} }] },
    ...{ clusters: [{ name: 'c', cluster }], contexts: [{ name: 'x', context }] },
  }
  writeFileSync(file, JSON.stringify(config))
  return {
    env: { KUBECONFIG: file },
    made: () => {
      const { stringData } = made.find(({ kind }) => kind === 'Secret')!
      expect(stringData).toEqual({
        OARFISH_RUN_TOKEN: expect.stringMatching(/^[0-9a-f]{64}$/),
        OARFISH_FS_UGI: 'user,secret-word',
      })
      const stars = Object.fromEntries(Object.keys(stringData!).map((name) => [name, '***']))
      return made.map((object) => (object.kind === 'Secret' ? { ...object, stringData: stars } : object))
    },
    read: (text) => parseAllDocuments(text).map((document) => document.toJS()),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
