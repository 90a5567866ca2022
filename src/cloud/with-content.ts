/** @file The files of a job as text they can travel in. */
import { readFileSync } from 'node:fs'
import type { Job } from '../submit/index.ts'

export function withContent(job: Job): Job {
  const files = job.files.map(({ name, content }) => ({
    name,
    content: 'path' in content ? { base64: readFileSync(content.path).toString('base64') } : content,
  }))
  return { ...job, files }
}
