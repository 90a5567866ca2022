/** @file The scripts that PaddleRec generates in a submission folder: before_hook.sh, end_hook.sh, job.sh. Pure. */
import { quoted, UserError } from '../../base/util/index.ts'
import type { Job } from './job.ts'
import { renderTrainFlags } from './train-flags.ts'
import { wallTimeOf } from './wall-time.ts'

export interface FolderOptions {
  readonly job: Job
  /** As written in backend.yaml: the nodes translate it. */
  readonly startCommand: string
  /** Version of this package. */
  readonly version: string
  readonly server?: string | undefined
  /** Without a job server: what runs it, by name. */
  readonly executor?: string | undefined
  readonly hostfile?: string | undefined
}

export function beforeHook({ version }: Pick<FolderOptions, 'version'>): string {
  return `#!/bin/sh
# Runs on each node before the job. Whoever runs the job has brought its oarfish here; OARFISH_PACKAGE, a tarball of
# npm pack or a folder that the node has, is installed beside the job in its place.
echo "Run before_hook.sh ..."
wanted=${version}
found=$(oarfish --version 2>/dev/null)
if [ -n "$OARFISH_PACKAGE" ]; then
    npm install --global --prefix "$PWD/.oarfish" --ignore-scripts --no-audit --no-fund "$OARFISH_PACKAGE" || exit 1
elif [ "$found" != "$wanted" ]; then
    echo "this node has oarfish \${found:-none}, and the job was submitted by oarfish $wanted: submit it with the version of the job server, or name a tarball of npm pack in OARFISH_PACKAGE" >&2
    exit 1
fi
echo "End before_hook.sh ..."
`
}

export function endHook(): string {
  return `#!/bin/sh
# Runs on each node after the job, also when it failed.
echo "Run end_hook.sh ..."
`
}

/** Hooks of former times that would fetch what is not needed and not there. */
export function checkHook(text: string): void {
  if (!/PaddleRec\.tar\.gz|PaddlePaddle\/PaddleRec|setup\.py install/.test(text)) return
  throw new UserError('before_hook.sh fetches PaddleRec, which this job does not use.', {
    code: 'SUBMIT_HOOK',
    hint: 'Write instead: npm install --global --prefix "$PWD/.oarfish" --ignore-scripts "$OARFISH_PACKAGE" (a tarball of npm pack)\nWhere oarfish is on the nodes already, no before_hook.sh is needed.',
  })
}

/** Submits the folder it stands in; works alone, under every sh. */
export function jobScript({ job, startCommand, server, executor, hostfile }: FolderOptions): string {
  const flags = [
    '--job-name "$job_name"',
    '--group-name "$group_name"',
    '--job-conf config.ini',
    '--start-cmd "$start_cmd"',
    '--files ./*',
    ...(job.version === undefined ? [] : ['--job-version "$job_version"']),
    ...renderTrainFlags(job),
    ...(executor === undefined ? [] : [`--executor ${executor}`]),
    ...(executor === undefined || hostfile === undefined ? [] : [`--hostfile ${quoted(hostfile)}`]),
    '--json',
  ]
  return `#!/bin/sh
# Submits the job of this folder: edit its files and run "sh job.sh" again. The keys are those of the profile
# in ~/.config/oarfish/credentials, or OARFISH_AK and OARFISH_SK.
cd "$(dirname "$0")" || exit 1
job_name=${quoted(job.name)}
group_name=${quoted(job.group)}
${job.version === undefined ? '' : `job_version=${quoted(job.version)}\n`}start_cmd=${quoted(startCommand)}
${job.wallSeconds === undefined ? '' : `wall_time=${quoted(wallTimeOf(job.wallSeconds))}\n`}profile=${quoted(job.secrets.profile)}
${server === undefined ? '' : `export PADDLECLOUD_SERVER="\${PADDLECLOUD_SERVER:-${server}}"\n`}
exec paddlecloud job --profile "$profile" train \\
    ${flags.join(' \\\n    ')}
`
}
