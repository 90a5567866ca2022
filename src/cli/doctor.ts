/** @file `oarfish doctor --kube`: whether a cluster is ready for jobs. */
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import { ExitCode } from './interrupt.ts'
import type { CliIo } from './io.ts'

interface DoctorFlags {
  readonly kube?: boolean
  readonly namespace?: string
  readonly context?: string
  readonly volcanoNamespace: string
  readonly json?: boolean
}

export function doctorCommand(io: CliIo): Command {
  return new Command('doctor')
    .description('Look at what jobs need, and say what to mend.')
    .option('--kube', 'a Kubernetes cluster: kubeconfig, server, nodes, cores, Volcano, queues, rights')
    .option('--namespace <name>', 'where jobs are to lie; default: that of the kubeconfig')
    .option('--context <name>', 'of the kubeconfig; default: its current one')
    .option('--volcano-namespace <name>', "where Volcano's own pods are", 'volcano-system')
    .option('--json', 'print one JSON line a check')
    .action((flags: DoctorFlags) => doctor(flags, io))
}

async function doctor({ kube, json, ...options }: DoctorFlags, io: CliIo): Promise<void> {
  if (!kube)
    throw new UserError('oarfish doctor: say what to look at.', { code: 'CLI_OPTION', hint: 'oarfish doctor --kube' })
  const { examine } = await import('../jobs/kube/index.ts')
  let wrong = 0
  for await (const finding of examine({ env: io.env, ...options })) {
    const { check, ok, text, fix } = finding
    if (ok === false) wrong++
    if (json) io.out.write(`${JSON.stringify(finding)}\n`)
    else
      io.out.write(
        `${MARKS[String(ok) as keyof typeof MARKS]} ${check.padEnd(10)} ${text}\n${fix ? indented(fix) : ''}`,
      )
  }
  if (wrong > 0) throw new ExitCode(2)
}

const MARKS = { true: 'ok  ', false: 'FAIL', undefined: '-   ' } as const

const indented = (text: string) => `${text.replaceAll(/^/gm, ' '.repeat(16))}\n`
