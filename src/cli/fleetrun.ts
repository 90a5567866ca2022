/** @file `fleetrun`, also `oarfish launch`: Paddle 2.x's launcher, its parameter-server part. */
import type { Command } from 'commander'
import { UserError } from '../util/index.ts'
import type { CliIo } from './io.ts'
import { launcherCommand, runLauncher } from './launch.ts'
import { FLEETRUN_FLAGS, type TypedFlags } from './launch-flags.ts'

type FleetrunFlags = TypedFlags<typeof FLEETRUN_FLAGS>

const EXAMPLES = `
Examples
  fleetrun --worker_num=2 --server_num=1 tools/static_ps_trainer.py -m models/rank/dnn/config.yaml
  fleetrun --workers=10.0.0.1:7100,10.0.0.2:7100 --servers=10.0.0.1:7000,10.0.0.2:7000 my_program.ts
    (the same command on both hosts: each starts its own entries)
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
  const { fleetrunLayout } = await import('../launch/index.ts')
  const given = Object.keys(typed) as (keyof FleetrunFlags)[]
  const refused = given.find((name) => FLEETRUN_FLAGS[name].effect === 'refused')
  if (refused) throw notPart(refused)
  const layout = fleetrunLayout(typed, io.env)
  const idle = given.filter((name) => ['collective', 'elastic'].includes(FLEETRUN_FLAGS[name].effect))
  const notices = idle.map((name) => `--${name} has no effect on a job with parameter servers.`)
  const {
    log_dir: logDir = FLEETRUN_FLAGS.log_dir.default!,
    json = false,
    job_id: jobId,
    stop_timeout: stopSeconds,
  } = typed
  await runLauncher({ layout, script, logDir: String(logDir), json, jobId, stopSeconds, notices }, io)
}

function notPart(name: keyof FleetrunFlags): UserError {
  return new UserError(`--${name}: ${FLEETRUN_FLAGS[name].what} is not part of Oarfish.`, { code: 'LAUNCH_FLAG' })
}
