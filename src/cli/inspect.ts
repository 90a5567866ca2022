/** @file `oarfish inspect`: looks at a running parameter server, its tables and single rows. */
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import type { PlainAnswer, RowReport, ServerReport, TableReport } from '../training/ps/index.ts'
import { hotText } from './inspect-hot.ts'
import type { CliIo } from './io.ts'

interface InspectCliOptions {
  readonly server: string
  readonly table?: string
  readonly key?: string
  readonly hot?: string | true
  readonly token?: string
  readonly tls?: string
  readonly log_dir: string
  readonly json?: boolean
}

export function inspectCommand(io: CliIo): Command {
  return new Command('inspect')
    .description('Look at a running parameter server: its tables, or one row with its state, owner and last update.')
    .requiredOption('--server <host:port>', 'any server of the job')
    .option('--table <name>', 'one table')
    .option('--key <sign>', 'one row of it, by the id as it stands in the data')
    .option('--hot [rows]', 'the rows of all servers that are pulled most, of the table or of each (20)')
    .option('--token <secret>', "the job's secret; OARFISH_JOB_TOKEN or the folder of the logs say it too")
    .option(
      '--tls <auto | files>',
      'where the job has runner.tls: auto, or CERT.pem,KEY.pem,CA.pem; OARFISH_TLS says it too',
    )
    .option('--log_dir <folder>', 'where fleetrun, which started the job, writes its logs', 'log')
    .option('--json', 'print the answer as one line of JSON')
    .action((options: InspectCliOptions) => runInspect(options, io))
}

async function runInspect({ server, table, key, hot, json, ...options }: InspectCliOptions, io: CliIo): Promise<void> {
  if (key !== undefined && table === undefined)
    throw new UserError('--key: it needs --table, which says whose row it is', { code: 'CLI_OPTION' })
  if (hot !== undefined && key !== undefined)
    throw new UserError('--hot: not with --key, which asks for one row', { code: 'CLI_OPTION' })
  if (!/^.+:\d+$/.test(server))
    throw new UserError(`--server: expected host:port, got "${server}"`, { code: 'CLI_OPTION' })
  const { inspectHot, inspectServer, MOST_HOT } = await import('../training/ps/index.ts')
  const most = hot === undefined ? undefined : hotCount(hot, MOST_HOT)
  const token = await tokenOf(server, options, io)
  const { tlsSetting } = await import('../base/env/index.ts')
  const tls = options.tls === undefined ? tlsSetting(io.env) : tlsSetting({ OARFISH_TLS: options.tls }, '--tls')
  const write = (answer: object, text: readonly string[]) =>
    io.out.write(json ? `${JSON.stringify(answer)}\n` : `${text.join('\n')}\n`)
  if (most !== undefined) {
    const report = await inspectHot({ server, token, tls, table, hot: most })
    write(report, hotText(report))
    return
  }
  const answer = await inspectServer({ server, token, tls, table, key })
  write(answer, textOf(answer, Date.now()))
}

function hotCount(given: string | true, most: number): number {
  if (given === true) return 20
  const rows = Number(given)
  if (Number.isInteger(rows) && rows >= 1 && rows <= most) return rows
  throw new UserError(`--hot: expected a whole number from 1 to ${most}, got "${given}"`, { code: 'CLI_OPTION' })
}

/** What was typed, what the environment says, what fleetrun left beside its logs, or what the processes derived by themselves. */
async function tokenOf(
  server: string,
  { token, log_dir }: Pick<InspectCliOptions, 'token' | 'log_dir'>,
  { env }: CliIo,
) {
  const { jobSecrets, parseEndpoints } = await import('../base/env/index.ts')
  const { readJobFile } = await import('../jobs/launch/index.ts')
  const job = readJobFile(log_dir)
  const known = job?.servers.includes(server) ? job : undefined
  const said = token ?? env['OARFISH_JOB_TOKEN'] ?? known?.token
  if (said) return said
  const list = env['PADDLE_PSERVERS_IP_PORT_LIST']
  const servers = known?.servers ?? (list ? parseEndpoints('PADDLE_PSERVERS_IP_PORT_LIST', list) : [server])
  const workerNum = known?.workerNum ?? Number(env['PADDLE_TRAINERS_NUM'] ?? 1)
  return jobSecrets({}, { servers, workerNum }).token
}

/** The answer as a person reads it. */
export function textOf(answer: PlainAnswer, now: number): readonly string[] {
  if (answer.kind === 'server') return serverText(answer)
  return answer.kind === 'table' ? [`server[${answer.server}]`, ...tableText(answer)] : rowText(answer, now)
}

function serverText({ server, mode, steps, shards, denseValues, usedBytes, memoryLimitBytes, tables }: ServerReport) {
  return [
    `server[${server}], mode ${mode}, ${count(steps)} steps`,
    `shards ${shards[0]} to ${shards[1]}; ${count(denseValues)} dense values`,
    `tables take ${megabytes(usedBytes)} of at most ${megabytes(memoryLimitBytes)}`,
    ...tables.flatMap(tableText),
  ]
}

function tableText({ name, dim, rows, rowBytes, usedBytes, optimizer, weights }: TableReport): string[] {
  return [
    `table ${name}: ${count(rows)} rows of dim ${dim}, ${rowBytes} bytes a row with the state of ${optimizer}, ${megabytes(usedBytes)}`,
    ...(weights
      ? [
          `  weights of ${count(weights.sampledRows)} rows: mean ${short(weights.mean)}, deviation ${short(weights.deviation)}, from ${short(weights.smallest)} to ${short(weights.largest)}`,
        ]
      : []),
  ]
}

function rowText({ table, key, owner, row }: RowReport, now: number): string[] {
  const head = `${key} of table ${table}: shard ${owner.shard}, server[${owner.server}] ${owner.endpoint} (its shard ${owner.localShard})`
  if (!row) return [head]
  const values = (numbers: readonly number[]) => numbers.map(short).join(' ')
  return [
    head,
    ...(row.isStored ? [] : ['not in the table yet; this is what it would begin with']),
    `  weight: ${values(row.weight)}`,
    ...Object.entries(row.state).map(([name, numbers]) => `  ${name}: ${values(numbers)}`),
    `  last update: ${updateText(row, now)}`,
  ]
}

function updateText({ isStored, lastUpdate, since }: NonNullable<RowReport['row']>, now: number): string {
  const ago = (at: number) => `${Math.max(0, (now - at) / 1000).toFixed(1)} s ago`
  if (lastUpdate) return `step ${count(lastUpdate.step)}, by worker[${lastUpdate.worker}], ${ago(lastUpdate.at)}`
  if (!isStored) return 'never'
  return since
    ? `before step ${count(since.step)}, ${ago(since.at)}: older ones are not remembered`
    : 'none since this server began'
}

const count = (value: number) => value.toLocaleString('en-US')
const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB`
const short = (value: number) => String(Number(value.toPrecision(6)))
