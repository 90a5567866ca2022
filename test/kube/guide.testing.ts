/** @file The jobs on Kubernetes of PaddleRec's guide, word by word where the guide is at hand. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBackend, yamlBlocks } from '../config-v1/blocks.testing.ts'

export interface GuideJob {
  readonly config: string
  readonly backend: string
}

const BESIDE = fileURLToPath(new URL('../../../shared/seeds', import.meta.url))

export function guideJob(kind: 'PS' | 'COLLECTIVE'): GuideJob {
  const folder = process.env['OARFISH_SEEDS'] ?? BESIDE
  const name = existsSync(folder) ? readdirSync(folder).find((each) => each.startsWith('000')) : undefined
  const blocks = yamlBlocks(name === undefined ? OWN : readFileSync(join(folder, name), 'utf8'))
  const mode = kind === 'PS' ? /fleet_mode: ps/ : /fleet_mode: collective/
  const jobs = blocks.flatMap((backend, i) => {
    if (!isBackend(backend) || !/cluster_type: k8s/i.test(backend)) return []
    const config = blocks.slice(0, i).findLast((block) => /class: cluster_train/.test(block))
    return config && mode.test(config) ? [{ config, backend }] : []
  })
  return jobs[0]!
}

const config = (mode: string, device: string) => `\`\`\`yaml
workspace: "./"
mode: [cluster]
runner:
- {name: cluster, class: cluster_train, fleet_mode: ${mode}, device: ${device}, phases: [p]}
dataset:
- {name: d, batch_size: 2, data_path: "{workspace}/train_data", sparse_slots: "click 1 2", dense_slots: "dense_var:13"}
phase:
- {name: p, model: "{workspace}/model.py", dataset_name: d, thread_num: 1}
\`\`\`
`
const backend = `\`\`\`yaml
backend: "PaddleCloud"
cluster_type: k8s
config:
  fs_name: "afs://xxx.com"
  fs_ugi: "usr,pwd"
  afs_remote_mount_point: ""
submit:
  ak: ""
  sk: ""
  priority: "high"
  job_name: "PaddleRec_CTR"
  group: ""
  start_cmd: "python -m paddlerec.run -m ./config.yaml"
  files: ./*.py ./*.yaml
  k8s_trainers: 2
  k8s-cpu-cores: 4
  k8s_gpu_card: 1
  k8s_ps_num: 2
  k8s_ps_cores: 4
\`\`\`
`
const OWN = [config('ps', 'cpu'), backend, config('collective', 'gpu'), backend].join('\n')
