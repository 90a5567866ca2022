/** @file `oarfish run -b backend.yaml`: check, prepare and submit. */
import { serverOf } from './cloud-client.ts'
import { exactRequest } from './exact-request.ts'
import { Interrupted } from './interrupt.ts'
import type { CliIo, StopSignal } from './io.ts'
import { credentialsFile, environment } from './user-places.ts'
import { packageVersion } from './version.ts'

export interface SubmitRun {
  readonly model: string
  readonly backend: string
  readonly dryRun: boolean
  /** Replace a job of the same name. */
  readonly force: boolean
}

export async function submitRun({ model, backend: backendFile, dryRun, force }: SubmitRun, io: CliIo): Promise<void> {
  const { loadBackend, loadRunConfig, withSecretsOf } = await import('../config/index.ts')
  const { describePlan, prepare, submit } = await import('../submit/index.ts')
  const [config, backend] = [loadRunConfig({ path: model }), withSecretsOf(io.env, loadBackend(backendFile))]
  const cwd = process.cwd()
  const prepared = prepare({ config, backend, backendFile, cwd, version: packageVersion(), now: new Date() })
  const warnings = [...config.warnings, ...backend.warnings, ...prepared.flatMap((one) => one.warnings)]
  for (const warning of new Set(warnings)) io.err.write(`${warning}\n`)
  for (const one of prepared) {
    if (dryRun) {
      const request = await exactRequest(one, { backend: backend.backend, cwd, server: await serverOf(io.env) })
      const plan = describePlan(one)
      io.out.write(backend.backend.backend === 'Kubernetes' ? `${asComment(plan)}---\n${request}` : plan + request)
      continue
    }
    const out = (text: string) => void io.out.write(text)
    const env = { ...environment(io.env), ...(force && { OARFISH_FORCE: '1' }) }
    let stoppedBy: StopSignal | undefined
    const onSignal = (listener: (signal: StopSignal) => void) =>
      io.onSignal((signal) => {
        stoppedBy = signal
        listener(signal)
      })
    const context = { cwd, credentialsFile: credentialsFile(io.env), env, out, onSignal }
    await submit(one, { ...context, isInteractive: io.isInteractive }).catch((error: unknown) => {
      throw stoppedBy ? new Interrupted(stoppedBy) : error
    })
  }
}

/** For kubectl, which takes the whole of what --dry-run prints. */
const asComment = (text: string) => `${text.trimEnd().replaceAll(/^.*$/gm, (line) => `# ${line}`.trimEnd())}\n`
