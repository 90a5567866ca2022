/** @file Data of a job, looked for on its file system before it is submitted: what is not there is told with all other problems of backend.yaml. */
import { type ConfigProblem, type LoadedBackend, problemAt } from '../../base/config/index.ts'
import { remoteFiles } from '../../base/fs/index.ts'
import { isUserError, within } from '../../base/util/index.ts'

export interface DataCheck {
  readonly problems: readonly ConfigProblem[]
  /** Where it cannot be seen from here: nodes may. */
  readonly warnings: readonly string[]
}

const PATHS = ['train_data_path', 'test_data_path', 'thirdparty_path'] as const
const LOOK_MS = 15_000
/** The file system itself has said so, or there is none of that kind. */
const KNOWN = ['FS_NOT_FOUND', 'FS_UNKNOWN']

/** Nodes of Kubernetes see a volume in place of these paths. */
export async function checkData(loaded: LoadedBackend, ugi: string | undefined): Promise<DataCheck> {
  const { config, cluster_type } = loaded.backend
  if (cluster_type !== 'mpi' || config.fs_name === '') return { problems: [], warnings: [] }
  const checks = await Promise.all(
    PATHS.filter((key) => config[key] !== '').map(async (key) => await lookAt(loaded, key, ugi)),
  )
  const distinct = new Set(checks.flatMap(({ warnings }) => warnings))
  return { problems: checks.flatMap(({ problems }) => problems), warnings: [...distinct] }
}

async function lookAt(loaded: LoadedBackend, key: (typeof PATHS)[number], ugi: string | undefined): Promise<DataCheck> {
  const { config } = loaded.backend
  try {
    const listed = remoteFiles(config.fs_name, { ugi }).list(config[key])
    if (!(await within(LOOK_MS, listed)))
      return { problems: [], warnings: [`config.${key} is still being looked at; the job goes on without`] }
    const problems =
      (await listed).length > 0 ? [] : [problemAt(loaded, ['config', key], `there is no file in ${config[key]}`)]
    return { problems, warnings: [] }
  } catch (error) {
    if (!isUserError(error)) throw error
    if (!KNOWN.includes(error.code))
      return { problems: [], warnings: [`config.${key} could not be looked at from here: ${error.message}`] }
    const at = error.code === 'FS_UNKNOWN' ? 'fs_name' : key
    return { problems: [problemAt(loaded, ['config', at], error.message)], warnings: [] }
  }
}
