/** @file What can be wrong with a launch, in words. Each code has a section in docs/reference/errors.md. */
import { UserError } from '../../base/util/index.ts'

export const launchFlagError = (message: string, hint?: string) => new UserError(message, { code: 'LAUNCH_FLAG', hint })

export const notInBuild = (message: string) =>
  new UserError(message, {
    code: 'LAUNCH_NOT_IN_BUILD',
    hint: 'Let the hosts of a collective job find each other at one of them: oarfish launch --master 10.0.0.1:6768 --nnodes 1:4 SCRIPT',
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

export const logFolderUnusable = (folder: string, cause: unknown) =>
  new UserError(`The log folder ${folder} cannot be used: ${(cause as Error).message}.`, {
    code: 'LAUNCH_LOG_DIR',
    hint: 'Name one that can be written, for example --log_dir /tmp/log',
    cause,
  })

/** `tool`: the tool of this package that may have been meant; its file need not exist. */
export const scriptMissing = (script: string, tried: readonly string[], tool?: string) =>
  new UserError(`There is no ${script}${tried.map((path) => `, nor ${path}`).join('')}.`, {
    code: 'LAUNCH_SCRIPT',
    hint: `The path is relative to the folder in which you run the command${tool ? `; did you mean tools/${tool}.py?` : '.'}`,
  })

export const loopbackInIps = (hosts: readonly string[]) =>
  new UserError(`127.0.0.1 in ips is not allowed in multi-nodes: ${hosts.join(',')}.`, {
    code: 'LAUNCH_HOST',
    hint: 'It means another machine on every host: write the address by which the others reach it.',
  })

export const moreThanDevices = (processes: number, devices: number) =>
  new UserError(`${processes} processes are asked for, but this host has ${devices} devices that are visible.`, {
    code: 'LAUNCH_DEVICES',
    hint: `Start at most ${devices} (--nproc_per_node ${devices}), or check CUDA_VISIBLE_DEVICES.`,
  })

export const noSuchDevice = (flag: string, id: string, devices: number) =>
  new UserError(`--${flag}: there is no device ${id}; this host has ${devices}, counted from 0.`, {
    code: 'LAUNCH_DEVICES',
    hint: '`oarfish devices` lists them.',
  })

export const deviceRequired = (lookedFor: string) =>
  new UserError(`--require_device: no device was found. ${lookedFor}`, {
    code: 'LAUNCH_DEVICES',
    hint: 'Leave out --require_device to train on the CPU.',
  })

export const notExpected = (host: string, why: string) =>
  new UserError(`${host} has no place in this job: ${why}.`, {
    code: 'LAUNCH_NODES',
    hint: 'Give every host its own --rank and ports, and this job another --job_id where two jobs share a master.',
  })

export const nodesMissing = (came: number, wanted: string, master: string, timeoutMs: number) =>
  new UserError(`${came} of ${wanted} hosts came to ${master} in ${Math.round(timeoutMs / 1000)} s.`, {
    code: 'LAUNCH_NODES',
    hint: 'Run the printed command on the other hosts, and check that they reach this address.',
  })
