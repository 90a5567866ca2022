/** @file A job that somebody starts again as a whole under the name it had: it goes on from what it has saved itself, and from nothing else. */
import type { JobConfig } from '../../base/config/index.ts'
import { jobUid, processEnv } from '../../base/env/index.ts'
import { hasSnapshotOf } from '../../weights/snapshot/index.ts'

/** Whether this is a further start of a job that has saved something: --resume by itself. Asked where it saves, at the first process. */
export async function goesOnByItself({ runner }: Pick<JobConfig, 'runner'>): Promise<boolean> {
  const [uid, path] = [jobUid(processEnv()), runner.model_save_path]
  return uid !== undefined && path !== '' && (await hasSnapshotOf(path, uid))
}
