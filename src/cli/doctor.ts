/** @file `oarfish doctor`: whether this machine, or with --kube a cluster, is ready; what to mend; --report for an issue. */
import { writeFileSync } from 'node:fs'
import { homedir, hostname, userInfo } from 'node:os'
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import type { HostFinding } from './doctor-checks.ts'
import { ExitCode } from './interrupt.ts'
import type { CliIo } from './io.ts'
import { packageVersion } from './user-places.ts'

interface DoctorFlags {
  readonly kube?: boolean
  readonly namespace?: string
  readonly context?: string
  readonly volcanoNamespace: string
  readonly report?: string | true
  readonly json?: boolean
}

export function doctorCommand(io: CliIo): Command {
  return new Command('doctor')
    .description('Look at what training needs on this machine, or at a cluster, and say what to mend.')
    .option('--kube', 'a Kubernetes cluster: kubeconfig, server, nodes, cores, Volcano, queues, rights')
    .option('--namespace <name>', 'where jobs are to lie; default: that of the kubeconfig')
    .option('--context <name>', 'of the kubeconfig; default: its current one')
    .option('--volcano-namespace <name>', "where Volcano's own pods are", 'volcano-system')
    .option(
      '--report [file]',
      'write what was found to a file to attach to an issue, without secrets (oarfish-report.txt)',
    )
    .option('--json', 'print one JSON line a check')
    .action((flags: DoctorFlags) => doctor(flags, io))
}

async function doctor({ kube, json, report, ...options }: DoctorFlags, io: CliIo): Promise<void> {
  const findings: HostFinding[] = []
  for await (const finding of kube ? cluster(options, io) : host(io)) {
    findings.push(finding)
    io.out.write(json ? `${JSON.stringify(finding)}\n` : line(finding))
  }
  if (report !== undefined) writeReport(report === true ? 'oarfish-report.txt' : report, findings, io)
  if (findings.some(({ ok }) => ok === false)) throw new ExitCode(2)
}

async function* host(io: CliIo): AsyncGenerator<HostFinding> {
  const { hostFacts } = await import('./doctor-facts.ts')
  const { examineHost } = await import('./doctor-checks.ts')
  yield* examineHost(await hostFacts(io))
}

async function* cluster(
  options: Omit<DoctorFlags, 'kube' | 'json' | 'report'>,
  io: CliIo,
): AsyncGenerator<HostFinding> {
  const { examine } = await import('../jobs/kube/index.ts')
  yield* examine({ env: io.env, ...options })
}

const MARKS = { true: 'ok  ', warn: 'warn', false: 'FAIL', undefined: '-   ' } as const

function line({ check, ok, text, fix }: HostFinding): string {
  return `${MARKS[String(ok) as keyof typeof MARKS]} ${check.padEnd(11)} ${text}\n${fix ? indented(fix) : ''}`
}

const indented = (text: string) => `${text.replaceAll(/^/gm, ' '.repeat(17))}\n`

/** Versions and findings; of the environment only the names of variables, since values may be secrets. */
function writeReport(file: string, findings: readonly HostFinding[], io: CliIo): void {
  const names = Object.keys(io.env).filter((name) =>
    /^(OARFISH|PADDLE|POD|TRAINING|ORT|NODE)_|^NODE_OPTIONS$|^KUBECONFIG$/.test(name),
  )
  const text = [
    `oarfish ${packageVersion()}, node ${process.versions.node}, ${process.platform} ${process.arch}`,
    `variables that are set (without their values): ${names.sort().join(', ') || 'none'}`,
    '',
    ...findings.map(line),
    'Add below: the command you ran, what it printed, and config.yaml and model.ts where they may be shown.',
    '',
  ].join('\n')
  try {
    writeFileSync(file, withoutNames(text))
  } catch (error) {
    throw new UserError(`The report cannot be written: ${(error as Error).message}`, {
      code: 'CLI_OPTION',
      hint: 'Name a file that can be written: --report FILE',
      cause: error,
    })
  }
  io.err.write(`The report is in ${file}: read it, add what it asks for, and attach it.\n`)
}

/** Whose machine it is, is nobody's business. */
function withoutNames(text: string): string {
  const { username } = userInfo()
  const named = [
    [homedir(), '~'],
    [hostname(), 'HOST'],
    [username, 'USER'],
  ] as const
  return named.reduce(
    (all, [name, stand]) =>
      name.length > 2 && name !== 'root' && name !== '/root' ? all.replaceAll(name, stand) : all,
    text,
  )
}
