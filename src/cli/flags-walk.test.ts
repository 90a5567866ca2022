/**
 * @file Every flag of the commands around clusters has an effect: the same line is run with and without it, against a real job server,
 * and only with it comes what its row names. A flag without a row, or a row without a flag, fails.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { captureIo } from './capture.testing.ts'
import { cloudCommand } from './cloud.ts'
import { clusterCommand } from './cluster.ts'
import { jobsCommand, logsCommand, statusCommand, stopCommand } from './jobs.ts'
import { run } from './main.ts'
import { paddlecloudCommand } from './paddlecloud.ts'
import { runCommand } from './run.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** What words of the table stand for: `$URL` and so on. */
const known: Record<string, string> = {}
let env: Record<string, string>
let endServer: (() => Promise<void>) | undefined

beforeAll(async () => {
  const home = mkdtempSync(join(tmpdir(), 'flags-'))
  Object.assign(known, { HOME: home, DIR: join(home, 'server'), NOWHERE: 'http://127.0.0.1:9' })
  env = { PATH: process.env['PATH']!, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home, SITE: 'walk' }
  mkdirSync(join(home, 'oarfish'), { recursive: true })
  await oarfish('cloud group add g --quota 2 --dir $DIR')
  for (const [name, admin] of [
    ['ann', ''],
    ['boss', '--admin'],
    ['eve', '--uid 12345'],
  ]) {
    const text = await oarfish(`cloud user add ${name} --group g --dir $DIR ${admin}`)
    const [ak, sk] = ['ak', 'sk'].map((key) => new RegExp(`${key}: (\\w+)`).exec(text)![1]!)
    writeFileSync(join(home, 'oarfish/credentials'), `[${name}]\nak=${ak}\nsk=${sk}\n`, { flag: 'a', mode: 0o600 })
  }
  const { url, end } = await serve('$DIR --pass-env SITE')
  endServer = end
  Object.assign(known, { URL: url, PORT: new URL(url).port, ANN: `--profile ann --server ${url}` })
  files(home)
  known['MINE'] = await train('ann', 'echo $SITE of ann')
  await train('boss', 'true')
})
afterAll(async () => {
  await endServer?.()
  rmSync(known['HOME']!, { recursive: true, force: true })
})

const V1 = `workspace: "./"
mode: [t]
runner:
- {name: t, class: cluster_train, epochs: 1, device: cpu, fleet_mode: ps, phases: [p]}
dataset:
- {name: d, type: DataLoader, batch_size: 2, data_path: "{workspace}/train_data", sparse_slots: "click 1"}
phase:
- {name: p, model: "{workspace}/model.py", dataset_name: d, thread_num: 1}
`

function files(home: string): void {
  const written = (name: string, text: string, mode = 0o644) => {
    writeFileSync(join(home, name), text, { mode })
    return join(home, name)
  }
  known['INI'] = written('config.ini', '')
  known['HOSTS'] = written('conf.py', 'HOSTS = ["root@10.0.0.1"]\n')
  known['CALLED'] = written('called', '#!/bin/sh\necho "called: $*" >&2\nexit 255\n', 0o755)
  known['HANGS'] = written('hangs', `#!/bin/sh\n: > ${home}/hung\nexec sleep 600\n`, 0o755)
  // Runs here what it is to run there, on a machine of another kind.
  mkdirSync(join(home, 'there'))
  written('there/uname', '#!/bin/sh\necho Plan9 mips\n', 0o755)
  const script = 'for last; do :; done\nexec sh -c "$last"\n'
  known['LOCAL'] = written('local', `#!/bin/sh\nPATH=${home}/there:$PATH\n${script}`, 0o755)
  known['LARGE'] = written('large', 'x'.repeat(1 << 20))
  known['V1'] = written('v1.yaml', V1)
  known['MPI'] = written('mpi.yaml', 'backend: MPI\ncluster_type: mpi\nsubmit: {files: "./none*"}\n')
  const job = { name: 'here', group: 'g', priority: 'high', kind: 'PS_CPU_MPI' }
  mkdirSync(join(home, 'oarfish/jobs/job-1/logs'), { recursive: true })
  written('oarfish/jobs/job-1/job.json', JSON.stringify(job))
  written('oarfish/jobs/job-1/outcome.json', '{"phase":"succeeded"}')
}

/** `words` with what they stand for; a word in quotes may have spaces. */
const split = (words: string) =>
  words
    .replaceAll(/\$([A-Z0-9]+)\b/g, (word, name: string) => known[name] ?? word)
    .match(/'[^']*'|\S+/g)!
    .map((word) => word.replaceAll("'", ''))

/** All that a line prints. It is interrupted once `until` holds of that. */
async function oarfish(
  line: string,
  more: Record<string, string> = {},
  until?: (text: string) => boolean,
): Promise<string> {
  const words = split(line)
  const { io, text, signal } = captureIo({ env: { ...env, ...more } })
  const all = () => text.out + text.err
  const ended = words[0] === 'paddlecloud' ? paddlecloud(words.slice(1), io) : run(words, io).then(() => '')
  if (until) {
    await vi.waitFor(() => expect(until(all())).toBe(true), { timeout: 30_000 })
    signal('SIGINT')
  }
  const failure = await ended
  return all() + failure
}

async function paddlecloud(words: readonly string[], io: Parameters<typeof paddlecloudCommand>[0]): Promise<string> {
  const command = (await paddlecloudCommand(io)).exitOverride()
  return await command.parseAsync(words, { from: 'user' }).then(() => '', String)
}

/** A job server in this process. */
async function serve(dirAndFlags: string) {
  const { io, text, signal } = captureIo({ env })
  const ended = run(['cloud', 'serve', '--port', '0', '--dir', ...split(dirAndFlags)], io)
  await vi.waitFor(() => expect(text.out, text.err).toMatch(/listens at/), { timeout: 30_000 })
  const end = async () => {
    signal('SIGTERM')
    await ended
  }
  return { url: /https?:\/\/[^;]+/.exec(text.out)![0], end }
}

const submission = (user: string, server: string, flags: string) =>
  `paddlecloud job --profile ${user} --server ${server} train --job-name walk --group-name g --mpi-nodes 1 --distribute-job-type MPI --job-conf $INI ${flags}`

/** Submits, waits for the end, and resolves to the id. */
async function train(user: string, command: string): Promise<string> {
  const text = await oarfish(submission(user, '$URL', `--start-cmd '${command}'`))
  const id = /jobId: (\S+)/.exec(text)?.[1]
  expect(id, text).toBeDefined()
  const status = async () => await oarfish(`status ${id} --profile ${user} --server $URL`)
  await vi.waitFor(async () => expect(await status()).toMatch(/succeeded/), { timeout: 60_000, interval: 200 })
  return id!
}

/** Command, flag, the line without it, what is added to the line, what is seen only then; and variables. */
type Row = readonly [
  command: string,
  flag: string,
  line: string,
  added: string,
  seen: RegExp | string,
  env?: Record<string, string>,
]

const KEYS = { PADDLECLOUD_SERVER: '$URL' }
const asked = (command: string, words: string): Row[] => [
  [command, 'profile', `${words} --server $URL`, '--profile nobody', /nobody/],
  [command, 'server', `${words} --profile ann`, '--server $NOWHERE', /127\.0\.0\.1:9 cannot be reached/, KEYS],
]
const SSH = { OARFISH_SSH: '$CALLED' }
const SERVED = 'cloud serve --dir $HOME/other --port $PORT'
const PADDLE = 'paddlecloud job'
const LOCAL = { OARFISH_SSH: '$LOCAL' }
const TRAIN = submission('ann', '$URL', '--start-cmd true')

const ROWS: readonly Row[] = [
  ['jobs', 'profile', 'jobs --server $URL --profile boss', '--profile ann', '$MINE'],
  asked('jobs', 'jobs')[1]!,
  ['jobs', 'limit', 'jobs $ANN', '-n 0', /\d older ones/],
  ['jobs', 'state', 'jobs $ANN', '--state failed', /No jobs yet/],
  ['jobs', 'group', 'jobs $ANN', '--group none', /No jobs yet/],
  ['jobs', 'user', 'jobs --server $URL --profile boss', '--user ann', '$MINE'],
  ['jobs', 'since', 'jobs $ANN', '--since 2999-01-01', /No jobs yet/],
  ['jobs', 'all', 'jobs --server $URL --profile boss', '--all', '$MINE'],
  ['jobs', 'json', 'jobs $ANN', '--json', /"total":\d/],
  ...asked('status', 'status $MINE'),
  ['status', 'json', 'status $MINE $ANN', '--json', /"phase":"succeeded"/],
  ...asked('logs', 'logs $MINE'),
  ['logs', 'role', 'logs $MINE $ANN', '--role pserver', /There is no log of pserver/],
  ['logs', 'rank', 'logs $MINE $ANN', '--rank 7', /There is no log of 7/],
  ...asked('stop', 'stop $MINE'),
  ['cloud serve', 'dir', 'cloud serve --port $PORT', '--dir /dev/null/none', /kept in \/dev\/null/],
  ['cloud serve', 'port', `cloud serve --dir $HOME/other --host 256.0.0.1`, '--port 8181', /256\.0\.0\.1:8181/],
  ['cloud serve', 'host', SERVED, '--host 256.0.0.1', /listen on 256\.0\.0\.1/],
  ['cloud serve', 'executor', SERVED, '--executor none', /--executor: expected local/],
  ['cloud serve', 'hostfile', SERVED, '--hostfile /none', /there is no \/none/],
  ['cloud serve', 'hostfile', SERVED, '--hostfile /dev/null', /--hostfile: only mpi and ssh have one/],
  ['cloud serve', 'hostfile', SERVED, '--hostfile /none --executor mpi', /there is no \/none/],
  ['cloud serve', 'namespace', SERVED, '--namespace x', /--namespace: only kubernetes/],
  ['cloud serve', 'tls-cert', SERVED, '--tls-cert /none.pem', /--tls-cert and --tls-key belong together/],
  ['cloud serve', 'tls-key', SERVED, '--tls-key /none.pem', /--tls-cert and --tls-key belong together/],
  ['cloud serve', 'metrics_port', SERVED, '--metrics_port x', /--metrics_port: "x" is no port/],
  ['cloud serve', 'pass-env', SERVED, '--pass-env NOT_SET', /--pass-env: NOT_SET is not set here/],
  ['cloud group add', 'dir', 'cloud group add g --quota 1 --dir $HOME/a', '--dir /dev/null', /\/dev\/null/],
  ['cloud group add', 'quota', 'cloud group add g --quota 1 --dir $HOME/a', '--quota 5', /5 nodes/],
  [
    'cloud group add',
    'priorities',
    'cloud group add g --quota 1 --dir $HOME/a',
    '--priorities high',
    /priorities high\n/,
  ],
  ['cloud group add', 'queue', 'cloud group add g --quota 1 --dir $HOME/a', '--queue', /kubeconfig/i],
  ['cloud user add', 'dir', 'cloud user add x --group none --dir $DIR', '--dir /dev/null', /\/dev\/null/],
  ['cloud user add', 'group', 'cloud user add y --group other --dir $DIR', '--group none', /There is no group none/],
  ['cloud user add', 'admin', 'cloud keys --server $URL --profile ann', '--profile boss', /administrator/],
  ['cloud user add', 'uid', 'cloud keys --server $URL --profile ann', '--profile eve', /uid 12345/],
  ['cloud user rotate', 'dir', 'cloud user rotate nobody --dir $DIR', '--dir /dev/null', /\/dev\/null/],
  ...asked('cloud keys', 'cloud keys'),
  ['cloud keys', 'rotate', 'cloud keys --server $URL --profile eve', '--rotate', /the old ones are worth nothing now/],
  ['cluster', 'conf', 'cluster --conf $HOSTS -j/x', '--conf /none.py', /\/none\.py cannot be read/, SSH],
  ['cluster', 'job_dispatch_package', 'cluster --conf $HOSTS', '-p /none', /there is no folder \/none/, SSH],
  ['cluster', 'job_workspace', 'cluster --conf $HOSTS', '-j/x', /10\.0\.0\.1: ssh failed/, SSH],
  ['cluster', 'connect_timeout', 'cluster --conf $HOSTS -j/x', '--connect_timeout 7', /ConnectTimeout=7/, SSH],
  ['cluster', 'resume', 'cluster --conf $HOSTS -p /none', '--resume', /dispatched has no saved passes to go on from/],
  ['cluster', 'max_restart', 'cluster --conf $HOSTS -j/x', '--max_restart few', /'few' is invalid/, SSH],
  ['cluster', 'host_timeout', 'cluster --conf $HOSTS -j/x', '--host_timeout long', /'long' is invalid/, SSH],
  ['run', 'model', 'run -m $V1', '-m /none.yaml', /\/none\.yaml/],
  ['run', 'backend', 'run -m $V1', '-b /none.yaml', /\/none\.yaml/],
  ['run', 'dry-run', 'run -m $V1', '--dry-run', /--dry-run: only with -b/],
  ['run', 'force', 'run -m $V1', '--force', /--force: only with -b/],
  ['run', 'force', 'run -m $V1 -b $MPI', '--force', /--force is for backend: Kubernetes; this is MPI/],
  ['run', 'json', 'run -m $V1 -b $MPI', '--json', /--json: not with -b/],
  ['run', 'engine', 'run -m $V1 -b $MPI', '--engine null', /--engine: not with -b/],
  ['status', 'server', 'status job-1', '--server $URL', /--server: job-1 was started from here/],
  ['logs', 'profile', 'logs JOB20260101000000', '--profile ann', /--profile: JOB20260101000000 was started from here/],
  ['stop', 'server', 'stop JOB20260101000000', '--server $URL', /--server: JOB20260101000000 was started from here/],
  ['cluster', 'install', 'cluster --conf $HOSTS -j/x', '--install', /10\.0\.0\.1 is Plan9 mips/, LOCAL],
  ['cluster', 'json', 'cluster --conf $HOSTS -j/x --install', '--json', /^\{.*installing oarfish/m, LOCAL],
  [PADDLE, 'profile', `${PADDLE} --server $URL --profile boss _ list`, '--profile ann', '$MINE'],
  [PADDLE, 'server', `${PADDLE} --profile ann _ list`, '--server $NOWHERE', /127\.0\.0\.1:9 cannot be reached/, KEYS],
  [PADDLE, 'ak', `${PADDLE} --server $URL --profile ann _ list`, '--ak x', /--ak and --sk belong together/],
  [PADDLE, 'sk', `${PADDLE} --server $URL --profile ann _ list`, '--sk x', /--ak and --sk belong together/],
  [`${PADDLE} logs`, 'role', `${PADDLE} $ANN logs $MINE`, '--role trainer', /^==> trainer\.0 <==/],
  [`${PADDLE} logs`, 'rank', `${PADDLE} $ANN logs $MINE --role trainer`, '--rank 0', /^walk of ann/],
  [`${PADDLE} train`, 'job-name', TRAIN, `--job-name ''`, /name: expected letters/],
  [`${PADDLE} train`, 'group-name', TRAIN, '--group-name none', /There is no group none/],
  [`${PADDLE} train`, 'start-cmd', TRAIN, `--start-cmd 'sh -c "python -m paddlerec.run"'`, /is not translated there/],
  [`${PADDLE} train`, 'job-conf', TRAIN, '--job-conf none.ini', /There is no none\.ini/],
  [`${PADDLE} train`, 'files', TRAIN, '--files none.ts', /there is no none\.ts/],
  [`${PADDLE} train`, 'executor', TRAIN, '--executor local', /--server: --executor asks no job server/],
  [`${PADDLE} train`, 'force', TRAIN, '--force', /--force is for --executor kubernetes/],
  [`${PADDLE} train`, 'hostfile', TRAIN, '--hostfile x', /--hostfile is for --executor mpi or ssh/],
  [`${PADDLE} train`, 'json', TRAIN, '--json', /"jobId": "/],
]

test.each(ROWS)('%s --%s: %s with %s', async (...row) => {
  const [, , line, added, seen, more = {}] = row as unknown as Row
  const variables = Object.fromEntries(Object.entries(more).map(([name, word]) => [name, split(word).join(' ')]))
  const pattern = typeof seen === 'string' ? new RegExp(known[seen.slice(1)]!) : seen
  const withFlag = line.includes(' _ ') ? line.replace(' _ ', ` ${added} `) : `${line} ${added}`
  expect(await oarfish(line.replace(' _ ', ' '), variables)).not.toMatch(pattern)
  expect(await oarfish(withFlag, variables)).toMatch(pattern)
})

/** Those that take more than a line. */
const LONGER: readonly (readonly [command: string, flag: string, see: () => Promise<void>])[] = [
  [
    'jobs',
    'watch',
    async () => expect(await oarfish('jobs $ANN --watch', {}, (text) => text.includes('walk'))).toMatch(known['MINE']!),
  ],
  [
    'logs',
    'follow',
    async () => {
      const gate = join(known['HOME']!, 'gate')
      const text = await oarfish(
        submission('ann', '$URL', `--start-cmd 'echo early; until [ -e ${gate} ]; do sleep 0.1; done; echo late'`),
      )
      const [, id] = /jobId: (\S+)/.exec(text)!
      const started = async () => expect(await oarfish(`logs ${id} $ANN`)).toMatch(/^early$/m)
      await vi.waitFor(started, { timeout: 60_000, interval: 200 })
      const following = oarfish(`logs ${id} $ANN -f`)
      const byPaddle = oarfish(`${PADDLE} $ANN logs ${id} -f`)
      expect(await oarfish(`logs ${id} $ANN`)).not.toMatch(/^late$/m)
      writeFileSync(gate, '')
      expect(await following).toMatch(/^late$/m)
      expect(await byPaddle).toMatch(/^late$/m)
    },
  ],
  [
    'cluster',
    'stop_timeout',
    async () => {
      const hangs = { OARFISH_SSH: known['HANGS']! }
      const isAsked = () => existsSync(join(known['HOME']!, 'hung'))
      const text = await oarfish('cluster --conf $HOSTS -j/x --stop_timeout 7', hangs, isAsked)
      expect(text).toMatch(/in 7 s, or by another Ctrl\+C/)
    },
  ],
  ...['file', 'job'].map(
    (what) =>
      [
        'cloud serve',
        `max-${what}-mb`,
        async () => {
          const { url, end } = await serve(`$HOME/${what} --max-${what}-mb 0`)
          await oarfish(`cloud group add g --quota 2 --dir $HOME/${what}`)
          const keys = await oarfish(`cloud user add ann --group g --dir $HOME/${what}`)
          const [ak, sk] = ['ak', 'sk'].map((key) => new RegExp(`${key}: (\\w+)`).exec(keys)![1]!)
          const more = { XDG_CONFIG_HOME: join(known['HOME']!, what) }
          const line = submission('new', url, "--start-cmd 'true' --files $LARGE").replace(
            '--profile new',
            `--ak ${ak} --sk ${sk}`,
          )
          expect(await oarfish(line, more)).toMatch(/1048576 bytes; a (file|job) may have 0/)
          await end()
        },
      ] as const,
  ),
]

test.each(LONGER)('%s --%s', async (_command, _flag, see) => await see())

test('every flag has a row, and every row a flag', async () => {
  const { io } = captureIo()
  const roots = [jobsCommand, statusCommand, logsCommand, stopCommand, cloudCommand, clusterCommand, runCommand]
  const tree = (command: Command, before = ''): string[] => {
    const name = `${before}${command.name()}`
    const own = command.options.map(({ long }) => `${name} ${long}`)
    return [...own, ...command.commands.flatMap((child) => tree(child, `${name} `))]
  }
  const paddle = tree(await paddlecloudCommand(io))
  const { TRAIN_FLAGS } = await import('../jobs/submit/index.ts')
  // Those of PaddleCloud are walked, for each kind of job, in flags-effect.test.ts.
  const elsewhere = Object.keys(TRAIN_FLAGS).map((name) => `paddlecloud job train --${name}`)
  const flags = [...roots.flatMap((make) => tree(make(io))), ...paddle].filter((flag) => !elsewhere.includes(flag))
  const rows = [...ROWS, ...LONGER].map(([command, flag]) => `${command} --${flag}`)
  expect([...new Set(rows), 'paddlecloud job logs --follow'].sort()).toEqual(flags.sort())
})
