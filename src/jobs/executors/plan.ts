/** @file What an executor would do, as data, and how a person reads it. Pure. */
import { shellLine } from '../../base/util/index.ts'
import { type KubePlan, manifestText } from '../kube/index.ts'
import type { SshHost } from '../ssh/index.ts'

/** In order. */
export interface Plan {
  readonly steps: readonly PlanStep[]
}

export type PlanStep = CommandStep | HostStep | NodeStep | CreateStep

/** A program of this machine. */
export interface CommandStep {
  readonly kind: 'command'
  readonly words: readonly string[]
  readonly input: CommandInput
  /** Also when a step before it failed, or the job was stopped. */
  readonly always: boolean
  /** Where one of its processes dies, it is run again and goes on from the job's last cut. @default false */
  readonly restarts?: boolean | undefined
}

/** Secrets of the job travel in neither: they are in the environment. */
export type CommandInput =
  | { readonly kind: 'none' }
  /** The job with its files, as JSON. */
  | { readonly kind: 'job' }
  | { readonly kind: 'text'; readonly text: string }

/** A program on another host, driven over its streams. */
export interface HostStep {
  readonly kind: 'host'
  readonly node: number
  readonly host: SshHost
  /** ssh as it reaches the host; how the connection is shared and kept alive is left out. */
  readonly ssh: readonly string[]
  readonly words: readonly string[]
}

/** A node that is processes of this machine. */
export interface NodeStep {
  readonly kind: 'node'
  readonly node: number
  readonly folder: string
  readonly commands: readonly (readonly string[])[]
}

/** Objects of Kubernetes. */
export interface CreateStep {
  readonly kind: 'create'
  readonly objects: KubePlan
}

/** What --dry-run prints: lines of sh, or manifests that kubectl takes. */
export function printPlan({ steps }: Plan): string {
  return steps.map((step) => `${printStep(step)}\n`).join('')
}

function printStep(step: PlanStep): string {
  switch (step.kind) {
    case 'command':
      return `${shellLine(step.words)}${INPUTS[step.input.kind](step.input)}${remark(step)}`
    case 'host':
      return `${shellLine(step.ssh)} ${shellLine(step.words)} # node ${step.node}; it reads the job from its input`
    case 'node':
      return [
        `mkdir -p ${shellLine([step.folder])} # node ${step.node}`,
        ...step.commands.map((words) => `cd ${shellLine([step.folder])} && ${shellLine(words)}`),
      ].join('\n')
    case 'create':
      return manifestText(step.objects.rendered).trimEnd()
    default:
      return step satisfies never
  }
}

function remark({ always, restarts }: CommandStep): string {
  if (always) return ' # also after a failure'
  return restarts ? ' # again, from the last cut, where a rank dies' : ''
}

const INPUTS: Readonly<Record<CommandInput['kind'], (input: CommandInput) => string>> = {
  none: () => '',
  job: () => ' # it reads the job from its input',
  text: (input) => (input.kind === 'text' ? ` <<'END'\n${input.text}END` : ''),
}
