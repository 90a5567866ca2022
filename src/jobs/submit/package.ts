/** @file The package that submits a job, as a tarball for its nodes: never a name that a registry would resolve. */
import { execFile } from 'node:child_process'
import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeOwnFolder, PACKAGE_PARTS, packageFile, UserError } from '../../base/util/index.ts'

/** As `npm pack` names it. */
export const packageName = (version: string): string => `oarfish-${version}.tgz`

/** Writes a tarball that `npm install` takes. By tar, which every node has: there may be no npm beside this Node. */
export async function packPackage(target: string): Promise<void> {
  const stage = makeOwnFolder('package')
  try {
    symlinkSync(packageFile('.'), join(stage, 'package'))
    const parts = PACKAGE_PARTS.filter((name) => existsSync(packageFile(name))).map((name) => `package/${name}`)
    const without = ['*.map', '*/criteo_like', '*/data/*_all'].map((pattern) => `--exclude=${pattern}`)
    await promisify(execFile)('tar', ['-C', stage, ...without, '-chzf', target, ...parts])
  } catch (error) {
    throw new UserError(
      `This package could not be packed for the nodes of the job: ${(error as Error).message.trim()}`,
      {
        code: 'SUBMIT_PACKAGE',
        hint: 'It takes tar and room on the disk. Where the nodes have this version of oarfish, write an empty before_hook.sh and name it in submit.files.',
        cause: error,
      },
    )
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}
