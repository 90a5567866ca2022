/** @file `oarfish launch_ps`: Paddle 1.x's launcher of parameter servers on one host. */
import type { Command } from 'commander'
import type { CliIo } from './io.ts'
import { launcherCommand, runLauncher } from './launch.ts'
import { type Flag, LAUNCH_PS_FLAGS, type TypedFlags } from './launch-flags.ts'

type LaunchPsFlags = TypedFlags<typeof LAUNCH_PS_FLAGS>

export function launchPsCommand(io: CliIo): Command {
  return launcherCommand<LaunchPsFlags>({
    name: 'launch_ps',
    description: "Start workers and servers on this host, with Paddle 1.x's flags and variables.",
    flags: LAUNCH_PS_FLAGS,
    action: (script, typed) => launchPs(script, typed, io),
  })
}

async function launchPs(script: readonly string[], typed: LaunchPsFlags, io: CliIo): Promise<void> {
  const { launchPsLayout } = await import('../jobs/launch/index.ts')
  const job = { kind: 'servers', layout: launchPsLayout(typed) } as const
  const { log_dir: logDir = LAUNCH_PS_FLAGS.log_dir.default!, json = false, stop_timeout: stopSeconds } = typed
  const notices = prints(typed.print_config) ? [configurationText(typed, script)] : []
  await runLauncher({ job, script, logDir: String(logDir), json, stopSeconds, notices }, io)
}

/** The original launches nothing at all when this is empty; here it only keeps quiet. */
function prints(typed: string | undefined): boolean {
  return typed === undefined || !['', '0', 'false'].includes(typed.toLowerCase())
}

function configurationText(typed: LaunchPsFlags, [training_script, ...rest]: readonly string[]): string {
  const defaults = Object.entries<Flag>(LAUNCH_PS_FLAGS).map(([name, flag]) => [name, flag.default ?? ''])
  const values = { ...Object.fromEntries(defaults), ...typed, training_script, training_script_args: rest.join(' ') }
  const lines = Object.entries(values)
    .filter(([name]) => name !== 'json')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}: ${value}`)
  return ['-----------  Configuration Arguments -----------', ...lines, '-'.repeat(48)].join('\n')
}
