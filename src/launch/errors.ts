/** @file What can be wrong with a launch, in words. Each code has a section in docs/errors.md. */
import { UserError } from '../util/index.ts'

export const launchFlagError = (message: string, hint?: string) =>
  new UserError(message, { code: 'LAUNCH_FLAG', ...(hint && { hint }) })

export const notInBuild = (message: string) =>
  new UserError(message, {
    code: 'LAUNCH_NOT_IN_BUILD',
    hint: 'This build starts parameter servers: fleetrun --worker_num=2 --server_num=1 SCRIPT',
  })

export const notThisHost = (entries: readonly string[], local: readonly string[], unresolved: readonly string[]) =>
  new UserError(
    `None of the endpoints is of this host: ${entries.join(', ')}. This host is ${local.join(', ')}.` +
      (unresolved.length > 0 ? ` Not found by name: ${unresolved.join(', ')}.` : ''),
    {
      code: 'LAUNCH_HOST',
      hint: 'Run the command on the hosts it lists, or say which entry this one is: POD_IP=10.0.0.1 fleetrun ...',
    },
  )

export const loopbackAmongHosts = (loopback: string, other: string) =>
  new UserError(`${loopback} means another machine on every host, so it cannot stand beside ${other}.`, {
    code: 'LAUNCH_HOST',
    hint: 'Write the address by which the other hosts reach it.',
  })

export const portTaken = (endpoint: string, cause: unknown) =>
  new UserError(`Could not listen on ${endpoint}: ${(cause as Error).message}.`, { code: 'LAUNCH_PORT', cause })

export const scriptMissing = (script: string, tried: readonly string[]) =>
  new UserError(`There is no ${script}${tried.map((path) => `, nor ${path}`).join('')}.`, {
    code: 'LAUNCH_SCRIPT',
    hint: 'The path is relative to the folder in which you run the command.',
  })
