/** @file `oarfish run -b backend.yaml`: check, prepare and submit. */
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '../util/index.ts'
import type { CliIo } from './io.ts'
import { packageVersion } from './version.ts'

export interface SubmitRun {
  readonly model: string
  readonly backend: string
  readonly dryRun: boolean
}

export async function submitRun({ model, backend: backendFile, dryRun }: SubmitRun, io: CliIo): Promise<void> {
  const { loadBackend, loadRunConfig } = await import('../config/index.ts')
  const { describePlan, prepare, submit } = await import('../submit/index.ts')
  const [config, backend] = [loadRunConfig({ path: model }), loadBackend(backendFile)]
  const cwd = process.cwd()
  const prepared = prepare({ config, backend, backendFile, cwd, version: packageVersion(), now: new Date() })
  const warnings = [...config.warnings, ...backend.warnings, ...prepared.flatMap((one) => one.warnings)]
  for (const warning of new Set(warnings)) io.err.write(`${warning}\n`)
  for (const one of prepared) {
    if (dryRun) {
      io.out.write(describePlan(one))
      continue
    }
    const out = (text: string) => void io.out.write(text)
    const code = await submit(one, { cwd, credentialsFile: credentialsFile(io.env), env: environment(io.env), out })
    if (code !== 0)
      throw new UserError(`The job was not submitted: job.sh ended with exit code ${code}.`, {
        code: 'SUBMIT_FAILED',
        hint: 'What it printed is above. Nothing runs on the cluster; the folder may be mended and submitted with sh job.sh.',
      })
  }
}

export const credentialsFile = (env: CliIo['env']) =>
  env['OARFISH_CREDENTIALS'] ?? join(env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'oarfish', 'credentials')

/** With this package's commands first on PATH: job.sh is to find the `paddlecloud` that belongs to it. */
export function environment(env: CliIo['env']): NodeJS.ProcessEnv {
  const bin = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'bin')
  return { ...env, PATH: [join(bin, 'path'), env['PATH']].join(delimiter) }
}
