/** @file `oarfish dashboard`: a page that shows runs, and what `--dashboard` of other commands opens. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import type { EventSink } from '../base/event/index.ts'
import { UserError } from '../base/util/index.ts'
import { untilInterrupted } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { wholeNumber } from './options.ts'
import { packageVersion } from './user-places.ts'

interface DashboardCliOptions {
  readonly port?: number
  readonly host?: string
  readonly token?: true
  readonly tlsCert?: string
  readonly tlsKey?: string
}

export function dashboardCommand(io: CliIo): Command {
  return new Command('dashboard')
    .description('Show runs on a page: curves, where time goes, processes, logs, settings (docs/guide/dashboard.md).')
    .argument('[folder...]', 'run folders, folders of them, or projects (default: the working folder)')
    .option('--port <n>', 'port to listen at; the next free one where it is in use (default: 6006)', wholeNumber)
    .option('--host <address>', 'listen there instead of at 127.0.0.1, for who has the token that is printed')
    .option('--token', 'ask for a token at 127.0.0.1 too: on a host that others use, they can open the page as well')
    .option('--tls-cert <file>', 'serve HTTPS: a certificate, PEM, with those between it and its authority')
    .option('--tls-key <file>', 'its private key, PEM')
    .action((folders: string[], options: DashboardCliOptions) => runDashboard(folders, options, io))
}

async function runDashboard(folders: readonly string[], typed: DashboardCliOptions, io: CliIo): Promise<void> {
  const { tlsCert, tlsKey, ...options } = typed
  const { openDashboard } = await import('../jobs/dashboard/index.ts')
  const { readServerKeys } = await import('../base/net/index.ts')
  const tls = readServerKeys(tlsCert, tlsKey)
  const shown = (folders.length === 0 ? ['.'] : folders).map((folder) => resolve(folder))
  const missing = shown.find((folder) => !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
  if (missing !== undefined)
    throw new UserError(`There is no folder ${missing}.`, {
      code: 'RUN_NAME',
      hint: 'Runs are listed by: oarfish runs',
    })
  const dashboard = await openDashboard({ ...options, tls, folders: shown, version: packageVersion() })
  const hooks = { onStopping: () => undefined, onLeaving: () => undefined }
  try {
    await untilInterrupted(io, hooks, async (signal) => {
      io.out.write(`Dashboard: ${dashboard.url}\nCtrl+C ends it; runs go on.\n`)
      await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }))
    })
  } finally {
    await dashboard.close()
  }
}

/** Runs `work` beside a page that shows the runs of `folder`, where one is asked for; the page ends with it. */
export async function besidePage<Result>(
  folder: string | undefined,
  emit: EventSink,
  work: () => Promise<Result>,
): Promise<Result> {
  if (folder === undefined) return await work()
  const { openDashboard } = await import('../jobs/dashboard/index.ts')
  const { url, close } = await openDashboard({ folders: [resolve(folder)], version: packageVersion() })
  emit({ kind: 'notice', message: `Dashboard: ${url}` })
  try {
    return await work()
  } finally {
    await close()
  }
}
