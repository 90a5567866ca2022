/** @file `fleetrun`, also `oarfish launch`: Paddle 2.x's launcher, with parameter servers or collective. */
import type { Command } from 'commander'
import { defined, shellWord, UserError } from '../base/util/index.ts'
import { fleetrunOnHosts } from './fleetrun-hosts.ts'
import type { CliIo } from './io.ts'
import { type LauncherJob, launcherCommand, runLauncher } from './launch.ts'
import { FLEETRUN_FLAGS, type FlagEffect, type TypedFlags } from './launch-flags.ts'
import { runEnv } from './run-options.ts'

export type FleetrunFlags = TypedFlags<typeof FLEETRUN_FLAGS>

const EXAMPLES = `
Examples
  fleetrun --worker_num=2 --server_num=1 tools/static_ps_trainer.py -m models/rank/dnn/config.yaml
  fleetrun --workers=10.0.0.1:7100,10.0.0.2:7100 --servers=10.0.0.1:7000,10.0.0.2:7000 my_program.ts
    (the same command on both hosts: each starts its own entries)
  fleetrun --worker_num=2:4 --server_num=1 tools/static_ps_trainer.py -m config.yaml
    (workers may leave and join while it trains; fleetrun --join adds one)
  oarfish launch --nproc_per_node 2 tools/static_trainer.py -m config.yaml
  oarfish launch --ips=10.0.0.1,10.0.0.2 --nproc_per_node 4 tools/static_trainer.py -m config.yaml
    (collective training: no servers; the same command on both hosts)
  fleetrun --hosts=root@10.0.0.1,root@10.0.0.2 --dispatch=. --worker_num=1 --server_num=1 tools/static_ps_trainer.py -m config.yaml
    (typed once, here: the job runs there, over ssh)
`

export function fleetrunCommand(io: CliIo, name = 'launch'): Command {
  return launcherCommand<FleetrunFlags>({
    name,
    description: 'Start the workers and servers of a job on this host, and supervise them.',
    flags: FLEETRUN_FLAGS,
    action: (script, typed) => fleetrun(script, typed, io),
  }).addHelpText('after', EXAMPLES)
}

async function fleetrun(script: readonly string[], typed: FleetrunFlags, io: CliIo): Promise<void> {
  const { fleetrunLayout, isCollective } = await import('../jobs/launch/index.ts')
  const given = Object.keys(typed) as (keyof FleetrunFlags)[]
  const refused = given.find((name) => FLEETRUN_FLAGS[name].effect === 'refused')
  if (refused) throw notPart(refused)
  const logDir = io.env['PADDLE_LOG_DIR'] || String(typed.log_dir ?? FLEETRUN_FLAGS.log_dir.default!)
  if (typed.join) return await joinJob(logDir, typed, io)
  if (script.length === 0)
    throw new UserError('What to run is missing.', {
      code: 'LAUNCH_SCRIPT',
      hint: 'fleetrun --server_num 1 --worker_num 2 tools/static_ps_trainer.py -m config.yaml',
    })
  const collective = isCollective(typed)
  if (typed.hosts !== undefined) return await fleetrunOnHosts(script, typed, collective, io)
  const { job, notices } = collective
    ? await collectiveJob(script, typed, io)
    : { job: { kind: 'servers', layout: fleetrunLayout(typed, io.env) } as const, notices: [] }
  const idle = given.filter((name) => (collective ? ['unused'] : ['collective', 'unused']).includes(effectOf(name)))
  const of = collective ? 'a collective job of Oarfish' : 'a job with parameter servers'
  const unused = idle.map((name) => `--${name} has no effect on ${of}.`)
  const env = await runEnv(
    { ...defined({ name: typed.name, metrics_port: typed.metrics_port }), runDir: !typed.no_run_dir },
    io.env,
  )
  const { json = false, job_id: jobId, stop_timeout: stopSeconds, max_restart: maxRestart } = typed
  const all = [...unused, ...notices]
  await runLauncher(
    { job, script, logDir, json, jobId, stopSeconds, maxRestart, notices: all, dashboard: typed.dashboard },
    { ...io, env },
  )
}

async function collectiveJob(
  script: readonly string[],
  typed: FleetrunFlags,
  { env }: CliIo,
): Promise<{ readonly job: LauncherJob; readonly notices: readonly string[] }> {
  const { collectiveLayout, overrideByEnv } = await import('../jobs/launch/index.ts')
  const { elastic_server, np } = typed
  if (elastic_server || np) throw etcdNotInBuild()
  const { flags, notices } = overrideByEnv(typed, env)
  const { deviceCount, hostDevices, lookedFor } = await import('../base/device/index.ts')
  const found = hostDevices()
  const layout = collectiveLayout(flags, env, { count: deviceCount(found), lookedFor: lookedFor(found) })
  // The same on every host, but for what is about this one.
  const own = ['master', 'rank', 'host', 'json', 'log_dir']
  const words = Object.entries(typed).flatMap(([name, value]) =>
    own.includes(name) ? [] : value === true ? [`--${name}`] : [`--${name} ${value}`],
  )
  const commandFor = (master: string) =>
    ['oarfish launch', `--master ${master}`, ...words, ...script.map((word) => shellWord(word))].join(' ')
  return { job: { kind: 'collective', layout, commandFor }, notices: [...notices, ...layout.notices] }
}

/** The launcher of the job starts the worker; this command only asks for it. */
async function joinJob(logDir: string, { json = false }: FleetrunFlags, io: CliIo): Promise<void> {
  const { askToJoin } = await import('../jobs/launch/index.ts')
  await askToJoin(logDir)
  const message = `A worker joins the job whose logs are in ${logDir}: its launcher saves it, stops it and goes on with one more.`
  io.out.write(json ? `${JSON.stringify({ kind: 'notice', message })}\n` : `${message}\n`)
}

function effectOf(name: keyof FleetrunFlags): FlagEffect {
  return FLEETRUN_FLAGS[name].effect
}

function etcdNotInBuild(): UserError {
  return new UserError('Elastic jobs with a rendezvous at an etcd server are not in this build.', {
    code: 'LAUNCH_NOT_IN_BUILD',
    hint: 'Let the hosts find each other at one of them: oarfish launch --master 10.0.0.1:6768 --nnodes 1:4 SCRIPT',
  })
}

function notPart(name: keyof FleetrunFlags): UserError {
  return new UserError(`--${name}: ${FLEETRUN_FLAGS[name].what} is not part of Oarfish.`, { code: 'LAUNCH_FLAG' })
}
