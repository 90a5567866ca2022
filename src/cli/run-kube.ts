/** @file A job for Kubernetes from this machine: made here, then followed by a process in the background that keeps its logs. */
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { JobRequest } from '../cloud/index.ts'
import { isUserError } from '../util/index.ts'
import type { CliIo } from './io.ts'
import { startFollower } from './local-jobs.ts'
import type { Staged } from './run-here.ts'
import { packageVersion } from './version.ts'

export async function submitToKubernetes(
  { id, folder, env }: Staged,
  { group, name }: Pick<JobRequest, 'group' | 'name'>,
  force: boolean,
  io: CliIo,
): Promise<void> {
  const { submitPods } = await import('../cloud/index.ts')
  const say = (line: string) => void io.out.write(`${line}\n`)
  const submit = async (replace: boolean) => await submitPods({ folder, env, version: packageVersion(), replace, say })
  try {
    await submit(force || io.env['OARFISH_FORCE'] === '1').catch(async (error: unknown) => {
      if (!isUserError(error) || error.code !== 'KUBE_EXISTS' || !io.isInteractive) throw error
      if (!(await confirmed(`${error.message} Delete it and submit this one? [y/N] `, io))) throw error
      await submit(true)
    })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true }) // nothing runs, so there is nothing to look at later
    throw error
  }
  await startFollower(folder, env)
  say('Congratulations! Job configuration check passed!')
  say('Congratulations! The new job is ready for training.')
  say(JSON.stringify({ groupName: group, jobId: id, jobName: name }, undefined, 4))
  say(`Follow it with: oarfish logs ${id} -f`)
}

async function confirmed(question: string, io: CliIo): Promise<boolean> {
  io.out.write(question)
  for await (const line of createInterface({ input: Readable.from(io.input()) })) return /^y(es)?$/i.test(line.trim())
  return false
}
