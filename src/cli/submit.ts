/** @file `oarfish run -b backend.yaml`: check, prepare and submit. */
import { homedir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Prepared } from '../submit/index.ts'
import { UserError } from '../util/index.ts'
import type { CliIo } from './io.ts'
import { packageVersion } from './version.ts'

export interface SubmitRun {
  readonly model: string
  readonly backend: string
  readonly dryRun: boolean
  /** Replace a job of the same name. */
  readonly force: boolean
}

export async function submitRun({ model, backend: backendFile, dryRun, force }: SubmitRun, io: CliIo): Promise<void> {
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
      if (backend.backend.backend === 'Kubernetes') io.out.write(await manifestsOf(one, cwd))
      continue
    }
    const out = (text: string) => void io.out.write(text)
    const env = { ...environment(io.env), ...(force && { OARFISH_FORCE: '1' }) }
    const code = await submit(one, { cwd, credentialsFile: credentialsFile(io.env), env, out })
    if (code !== 0)
      throw new UserError(`The job was not submitted: job.sh ended with exit code ${code}.`, {
        code: 'SUBMIT_FAILED',
        hint: 'What it printed is above. Nothing runs on the cluster; the folder may be mended and submitted with sh job.sh.',
      })
  }
}

/** What the cluster would be asked to make. Files that job.sh adds are among them; secrets are stars. */
async function manifestsOf({ job, plan }: Prepared, cwd: string): Promise<string> {
  const { renderOptions } = await import('../cloud/index.ts')
  const { manifestText, renderJob } = await import('../kube/index.ts')
  const taken = job.files.map((file) =>
    'path' in file.content ? { ...file, content: { path: resolve(cwd, file.content.path) } } : file,
  )
  const generated = plan.files
    .map(({ path, text }) => ({ name: basename(path), content: { text } }))
    .filter(({ name }) => name.endsWith('_hook.sh') || name === 'config.ini')
  const files = [...taken, ...generated]
  return manifestText(renderJob(renderOptions({ ...job, files }, { env: {}, version: packageVersion() })))
}

export const credentialsFile = (env: CliIo['env']) =>
  env['OARFISH_CREDENTIALS'] ?? join(env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'oarfish', 'credentials')

/** With this package's commands first on PATH: job.sh is to find the `paddlecloud` that belongs to it. */
export function environment(env: CliIo['env']): NodeJS.ProcessEnv {
  const bin = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'bin')
  return { ...env, PATH: [join(bin, 'path'), env['PATH']].join(delimiter) }
}
