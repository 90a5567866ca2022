/** @file What fleetrun and launch_ps share: flags as options, processes until they end, Ctrl+C. */
import { Command } from 'commander'
import { jsonlSink } from '../base/event/index.ts'
import { packageFile } from '../base/util/index.ts'
import type { CollectiveLayout, Layout } from '../jobs/launch/index.ts'
import { besidePage } from './dashboard.ts'
import { ExitCode, untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import type { Flag } from './launch-flags.ts'
import { wholeNumber } from './options.ts'
import { showsUnicode } from './output.ts'

export interface LauncherCommand<Flags> {
  readonly name: string
  readonly description: string
  readonly flags: Readonly<Record<string, Flag>>
  readonly action: (script: readonly string[], typed: Flags) => Promise<void>
}

/** A command with one option a flag; what follows the script belongs to the script. */
export function launcherCommand<Flags>({ name, description, flags, action }: LauncherCommand<Flags>): Command {
  const command = new Command(name)
    .description(description)
    .argument(flags['join'] ? '[script...]' : '<script...>', 'a program or one of the tools, and its arguments')
    .passThroughOptions()
  for (const [flag, { type, what, effect, default: fallback }] of Object.entries(flags)) {
    const isListed = effect === 'used' || effect === 'ours' || effect === 'collective'
    const description = fallback === undefined ? what : `${what} (default: ${fallback})`
    const option = command.createOption(type === 'switch' ? `--${flag}` : `--${flag} <${type}>`, description)
    if (type === 'whole') option.argParser((typed) => wholeNumber(typed))
    command.addOption(isListed ? option : option.hideHelp())
  }
  return command.action(action)
}

/** What to launch; `commandFor` is the command for other hosts, by the address of the master. */
export type LauncherJob =
  | { readonly kind: 'servers'; readonly layout: Layout }
  | {
      readonly kind: 'collective'
      readonly layout: CollectiveLayout
      readonly commandFor: (master: string) => string
    }

export interface RunLauncherOptions {
  readonly job: LauncherJob
  readonly script: readonly string[]
  readonly logDir: string
  readonly json: boolean
  readonly jobId?: string | undefined
  readonly stopSeconds: number | undefined
  readonly maxRestart?: number | undefined
  /** Show runs of the working folder, or of OARFISH_RUN_DIR, on a page meanwhile. */
  readonly dashboard?: boolean | undefined
  /** Worth saying before anything starts. */
  readonly notices?: readonly string[]
}

/** Supervises the job to its end; throws its exit code when that is not 0. */
export async function runLauncher(
  {
    job,
    script,
    logDir,
    json,
    jobId,
    stopSeconds = STOP_SECONDS,
    maxRestart,
    dashboard,
    notices = [],
  }: RunLauncherOptions,
  io: CliIo,
): Promise<void> {
  const { launch, launchCollective } = await import('../jobs/launch/index.ts')
  const screen = await openScreen(io, json)
  const { emit } = screen
  for (const message of notices) emit({ kind: 'notice', message })
  let kill: (() => void) | undefined
  const message = `Stopping the processes of this host; in ${stopSeconds} s, or by another Ctrl+C, they are killed.`
  const hooks = {
    onStopping: () => emit({ kind: 'notice', message }),
    onLeaving: () => {
      kill?.()
      screen.close()
    },
  }
  let exitCode: number | undefined
  try {
    const work = async (signal: AbortSignal) => {
      const sampled = { sampleOutput: screen.isLive, stopMs: stopSeconds * 1000 }
      const common = {
        script,
        logDir,
        jobId,
        env: screen.isLive ? { ...io.env, OARFISH_VIEW: '1' } : io.env,
        oarfish: OARFISH,
        emit,
        signal,
        ...sampled,
      }
      const running = await (job.kind === 'collective'
        ? launchCollective({ ...common, layout: job.layout, commandFor: job.commandFor })
        : launch({ ...common, layout: job.layout, maxRestart }))
      kill = running.kill
      exitCode = await running.ended
    }
    const page = dashboard ? io.env['OARFISH_RUN_DIR'] || '.' : undefined
    await besidePage(page, emit, () => untilInterrupted(io, hooks, work))
  } finally {
    screen.close()
  }
  if (exitCode) throw new ExitCode(exitCode)
}

const STOP_SECONDS = 30
const OARFISH = [process.execPath, packageFile('bin/oarfish.js')]

/** Live rows on a terminal, plain lines elsewhere, or JSON lines. */
export async function openScreen({ out, env, platform }: CliIo, json: boolean) {
  const { plainSink, rowsSink } = await import('../jobs/launch/index.ts')
  const write = (text: string) => void out.write(text)
  const close = () => undefined
  if (json) return { emit: jsonlSink(write), isLive: false, close }
  if (!out.isTTY) return { emit: plainSink(write), isLive: false, close }
  const sink = rowsSink(out, { color: false, unicode: showsUnicode(env, platform) })
  return { emit: sink, isLive: true, close: sink.close }
}
