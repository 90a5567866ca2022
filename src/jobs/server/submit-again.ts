/** @file A job once more: a new one of the same request, with the files that the first was given. */
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type JobRequest, jobFolder } from '../executors/index.ts'
import { fsUgiOf, type ServerOptions } from './access.ts'
import { HttpError } from './http-error.ts'
import { openOfJob } from './open-of-job.ts'
import type { CloudJob } from './store.ts'
import { hashOfFile } from './upload.ts'

/** Resolves to the id of the new job. */
export async function submitAgain(
  job: CloudJob,
  request: JobRequest,
  body: unknown,
  { store, dispatcher }: Pick<ServerOptions, 'store' | 'dispatcher'>,
): Promise<string> {
  const ugi = fsUgiOf(body) || undefined
  if (job.hadUgi && ugi === undefined)
    throw new HttpError(
      409,
      'The job needs fs_ugi, which is forgotten when a job ends.',
      'Enter it again: user,password',
    )
  const { id } = await store.create(job.user, request, ugi)
  const [from, to] = [store.folderOf(job.id), jobFolder(store.folderOf(id)).files]
  try {
    for (const { name, sha256 } of request.files) {
      const found = openOfJob(from, join(jobFolder(from).files, name))
      if (!found) throw new HttpError(409, `${name} of job ${job.id} is gone.`, 'Submit it from your own machine.')
      await pipeline(createReadStream('', { fd: found.fd }), createWriteStream(join(to, name)))
      if ((await hashOfFile(join(to, name))) !== sha256)
        throw new HttpError(409, `${name} of job ${job.id} was changed.`, 'Submit it from your own machine.')
    }
  } catch (error) {
    await store.setPhase(id, 'stopped', `it could not be submitted again: ${(error as Error).message}`)
    throw error
  }
  await store.setPhase(id, 'queued')
  void dispatcher.turn()
  return id
}
