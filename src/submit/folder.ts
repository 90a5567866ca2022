/** @file The files that PaddleRec generates in a submission folder: before_hook.sh, config.ini, end_hook.sh, job.sh. Pure. */
import { reference } from './credentials.ts'
import type { Job, PodSettings } from './job.ts'

export interface FolderOptions {
  readonly job: Job
  /** As written in backend.yaml: the nodes translate it. */
  readonly startCommand: string
  /** Version of this package. */
  readonly version: string
  readonly server?: string | undefined
  /** Run by this command itself, without a job server. */
  readonly direct?:
    | { readonly executor: 'mpi' | 'slurm' | 'ssh' | 'kubernetes'; readonly hostfile?: string | undefined }
    | undefined
}

export function beforeHook({ version }: Pick<FolderOptions, 'version'>): string {
  return `#!/bin/sh
# Runs on each node before the job. It installs oarfish beside the job where the right version is not there yet.
# OARFISH_PACKAGE may name another registry entry, a tarball of "npm pack", or a folder.
echo "Run before_hook.sh ..."
wanted=${version}
if [ "$(oarfish --version 2>/dev/null)" = "$wanted" ]; then
    echo "oarfish $wanted is there already"
else
    npm install --global --prefix "$PWD/.oarfish" --ignore-scripts --no-audit --no-fund "\${OARFISH_PACKAGE:-oarfish@$wanted}" || exit 1
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

/** The environment of a job, without a secret: \`fs_ugi\` is a name of credentials. */
export function configIni({ env, data, secrets }: Job): string {
  const onMpi = env['PADDLEREC_CLUSTER_TYPE'] === 'MPI'
  const lines = [
    '# File system of the job. Secrets are named here and kept in ~/.config/oarfish/credentials.',
    `fs_name=${data.fileSystem ?? ''}`,
    `fs_ugi=${secrets.env.includes('fs_ugi') ? reference(secrets.profile) : ''}`,
    `output_path=${data.output ?? ''}`,
    '',
    ...(onMpi
      ? [
          '# Data, dealt out to ./train_data and ./test_data of the nodes; ./thirdparty is whole on each.',
          'storage_type="hdfs"',
          'force_reuse_output_path="True"',
          `train_data_path=${data.train ?? ''}`,
          `test_data_path=${data.test ?? ''}`,
          `thirdparty_path=${data.thirdparty ?? ''}`,
        ]
      : [
          '# Volume that every pod sees at ./afs/.',
          'mount_afs="true"',
          `AFS_REMOTE_MOUNT_POINT=${data.mount ?? ''}`,
          // Where PaddleCloud's own nodes have it; here it is ./afs/ of the working folder, whatever this says.
          'afs_local_mount_point="/root/paddlejob/workspace/env_run/afs/"',
        ]),
    '',
    '# Environment of every process.',
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
  ]
  return `${lines.join('\n')}\n`
}

/** Submits the folder it stands in; works alone, under every sh. */
export function jobScript({ job, startCommand, server, direct }: FolderOptions): string {
  const flags = [
    '--job-name "$job_name"',
    '--group-name "$group_name"',
    '--job-conf config.ini',
    '--start-cmd "$start_cmd"',
    '--files ./*',
    '--job-version "$job_version"',
    ...kindFlags(job),
    ...(direct ? [`--executor ${direct.executor}`] : []),
    ...(direct?.hostfile === undefined ? [] : [`--hostfile ${quoted(direct.hostfile)}`]),
    '--json',
  ]
  return `#!/bin/sh
# Submits the job of this folder: edit its files and run "sh job.sh" again. The keys are those of the profile
# in ~/.config/oarfish/credentials, or OARFISH_AK and OARFISH_SK.
cd "$(dirname "$0")" || exit 1
job_name=${quoted(job.name)}
group_name=${quoted(job.group)}
job_version="paddle-fluid-v1.7.1"
start_cmd=${quoted(startCommand)}
wall_time="2000:00:00"
profile=${quoted(job.secrets.profile)}
${server === undefined ? '' : `export PADDLECLOUD_SERVER="\${PADDLECLOUD_SERVER:-${server}}"\n`}
exec paddlecloud job --profile "$profile" train \\
    ${flags.join(' \\\n    ')}
`
}

function kindFlags({ kind, roles, priority, pods: settings }: Job): readonly string[] {
  const trainer = roles.find(({ name }) => name === 'trainer')!
  const server = roles.find(({ name }) => name === 'pserver')
  if (kind.endsWith('_MPI')) {
    const collective = server ? [] : ['--distribute-job-type MPI']
    return [
      `--mpi-priority ${priority}`,
      '--mpi-wall-time "$wall_time"',
      `--mpi-nodes ${trainer.replicas}`,
      '--is-standalone 0',
      '--permission group',
      ...collective,
    ]
  }
  const { cpu, memory, gpu } = trainer.resources
  const pods = [
    `--k8s-priority ${priority}`,
    '--wall-time "$wall_time"',
    `--k8s-trainers ${trainer.replicas}`,
    `--k8s-cpu-cores ${cpu}`,
    `--k8s-memory ${memory}`,
    ...(gpu ? [`--k8s-gpu-cards ${gpu.cards}`, `--k8s-gpu-resource ${quoted(gpu.resource)}`] : []),
    ...podFlags(settings),
  ]
  if (server) {
    const { cpu: cores, memory: size } = server.resources
    const servers = [`--k8s-ps-num ${server.replicas}`, `--k8s-ps-cores ${cores}`, `--k8s-ps-memory ${size}`]
    return [...pods, ...servers, '--is-standalone 0', '--distribute-job-type "PSERVER"']
  }
  if (trainer.replicas > 1) return [...pods, '--is-standalone 0', '--distribute-job-type NCCL2']
  const remark = gpu?.cards === 1 ? 'single-gpu' : 'single-trainer'
  return [...pods, '--is-standalone 1', `--job-remark ${remark}`]
}

function podFlags(settings: PodSettings | undefined): readonly string[] {
  const { framework, image, namespace, scheduler, serviceAccount, pullSecrets, maxRetry } = settings ?? {}
  const flags = {
    '--k8s-framework': framework,
    '--k8s-image': image,
    '--k8s-namespace': namespace,
    '--k8s-scheduler': scheduler,
    '--k8s-service-account': serviceAccount,
    '--k8s-pull-secrets': pullSecrets?.join(','),
    '--k8s-max-retry': maxRetry,
  }
  return Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined ? [] : [`${flag} ${quoted(String(value))}`],
  )
}

/** A word of a shell, whatever it holds. */
export const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`
