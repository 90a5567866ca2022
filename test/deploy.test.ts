/** @file What lies in deploy/: the guide's job as the guide has it, and manifests that say what they should. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { fluidEnv, readFluidPod } from '../src/jobs/kube/pod/fluid-env.ts'
import { parseClusterConf } from '../src/jobs/ssh/index.ts'
import { CHART, helm, lacksHelm } from './helm.testing.ts'

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const JOB = readFileSync(at('deploy/kubernetes/ctr-paddlepaddle-on-volcano.yaml'), 'utf8')
/** What the guide's has not: the job's secret. */
const TOKEN = `          envFrom:
          - secretRef: { name: ctr-token }
`
const SEEDS = process.env['OARFISH_SEEDS']

test.skipIf(!SEEDS || !existsSync(SEEDS))(
  "ctr-paddlepaddle-on-volcano.yaml is the guide's, with another image and a token",
  () => {
    const guides = readdirSync(SEEDS!).map((name) => readFileSync(join(SEEDS!, name), 'utf8'))
    const guide = guides.find((text) => text.includes('ctr-paddlepaddle-on-volcano.yaml'))!
    const [, block] = /\n(\tapiVersion: batch\.volcano\.sh[\s\S]*?)\n\t?\n\n/.exec(guide)!
    const untabbed = block!.split('\n').map((line) => untab(line.slice(1)))
    const job = JOB.replaceAll(TOKEN, '').trimEnd().split('\n')
    expect(job.filter((line) => !line.includes('- image: '))).toEqual(
      untabbed.filter((line) => !line.includes('- image: ')),
    )
    expect(job.filter((line) => line.includes('- image: '))).toHaveLength(2)
  },
)

/** Tabs reach to the next multiple of 8. */
const untab = (line: string) =>
  line.replace(/^[ \t]+/, (space) => {
    let width = 0
    for (const character of space) width = character === '\t' ? (Math.floor(width / 8) + 1) * 8 : width + 1
    return ' '.repeat(width)
  })

test('every task of the job has its token from a Secret', () => {
  for (const task of parse(JOB).spec.tasks)
    expect(task.template.spec.containers[0].envFrom).toEqual([{ secretRef: { name: 'ctr-token' } }])
})

test('the image of the job is that of this version', () => {
  const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  const { tasks } = parse(JOB).spec
  for (const task of tasks) expect(task.template.spec.containers[0].image).toBe(`localhost/oarfish:${version}`)
})

test('every manifest is yaml with a kind and a name', () => {
  const files = readdirSync(at('deploy'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.yaml') && !path.startsWith('helm'), // templates, which only helm can read
  )
  expect(files.length).toBeGreaterThan(1)
  for (const path of files) {
    for (const document of parseAllDocuments(readFileSync(at(join('deploy', path)), 'utf8'))) {
      expect(document.errors, path).toEqual([])
      const { kind, metadata } = document.toJSON()
      expect(kind, path).toBeTypeOf('string')
      if (kind !== 'Kustomization') expect(metadata.name, path).toBeTypeOf('string')
    }
  }
})

test('the job server has the rights of whoever submits, and the version of this package', () => {
  const documents = (path: string) =>
    parseAllDocuments(readFileSync(at(`deploy/kubernetes/${path}`), 'utf8')).map((document) => document.toJSON())
  const rules = (path: string) => documents(path).find(({ kind }) => kind === 'Role').rules
  expect(rules('job-server/rbac.yaml')).toEqual(rules('submitter.yaml'))
  const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  expect(documents('job-server/kustomization.yaml')[0].images[0].newTag).toBe(version)
})

test.skipIf(lacksHelm)(`the Helm chart makes what kustomize makes ${lacksHelm ?? ''}`, () => {
  const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  const chart = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'))
  expect([chart.version, chart.appVersion]).toEqual([version, version])
  const objects = (text: string) => {
    const all = parseAllDocuments(text).flatMap((document) => document.toJSON() ?? [])
    return new Map(all.map((object) => [`${object.kind} ${object.metadata.name}`, object]))
  }
  const read = (path: string) => readFileSync(at(`deploy/kubernetes/${path}`), 'utf8')
  const made = objects(helm('template', 'oarfish', CHART, '--set', 'queues={paddle},podReader=true'))
  const files = ['job-server/rbac.yaml', 'job-server/server.yaml', 'priorities.yaml', 'queue.yaml', 'pod-reader.yaml']
  const wanted = objects(files.map(read).join('\n---\n'))
  wanted.get('Deployment job-server').spec.template.spec.containers[0].image = `localhost/oarfish:${version}`
  // Beside them only that a claim outlives its release.
  delete made.get('PersistentVolumeClaim job-server').metadata.annotations
  expect(Object.fromEntries(made)).toEqual(Object.fromEntries(wanted))
  expect(helm('lint', '--strict', CHART)).toContain('0 chart(s) failed')
})

test('the image gets what scripts/image.mjs writes, without install scripts, and does not run as root', () => {
  const lines = readFileSync(at('deploy/Dockerfile'), 'utf8').split('\n')
  expect(lines.some((line) => line.includes('npm ci --ignore-scripts') && line.includes('scripts/image.mjs'))).toBe(
    true,
  )
  // Every folder that the script writes is copied, and nothing else.
  const copied = lines.flatMap((line) => /^COPY --from=build .*\/image\/(\w+) \/\1$/.exec(line)?.[1] ?? [])
  const script = readFileSync(at('scripts/image.mjs'), 'utf8')
  const written = [...script.matchAll(/(?:const (?:HOME|PROGRAM) = |join\(out, )'(\w+)\//g)].map(([, folder]) => folder)
  expect(copied.sort()).toEqual([...new Set(written)].sort())
  expect(lines).toContain('USER 1000:1000')
})

describe('docs/reference/env.md', () => {
  const rows = [...readFileSync(at('docs/reference/env.md'), 'utf8').matchAll(/^\| (`[^|]+?) \|/gm)].map(
    ([, names]) => names!,
  )
  const listed = new Set(rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name)))

  test("has a row for every variable of the guide's job", () => {
    const tasks: { template: { spec: { containers: { env: { name: string }[] }[] } } }[] = parse(JOB).spec.tasks
    const names = tasks.flatMap(({ template }) => template.spec.containers[0]!.env.map(({ name }) => name))
    expect(new Set(names).size).toBe(19)
    expect(names.filter((name) => !listed.has(name))).toEqual([])
  })

  test('has a row for every variable that a program is told', () => {
    const pod = { PADDLE_JOB_NAME: 'j', POD_NAME: 'a', POD_IP: '1', ENTRY: 'e', PADDLE_PSERVERS_NUM: '1' }
    const env = { ...pod, TRAINING_ROLE: 'TRAINER', PADDLE_TRAINERS_NUM: '1' }
    const [server, trainer] = [
      { name: 'b', ip: '2' },
      { name: 'a', ip: '1' },
    ] as const
    const told = fluidEnv(env, readFluidPod(env), [server], [trainer])
    expect(Object.keys(told).filter((name) => !listed.has(name))).toEqual([])
  })
})

test.skipIf(!SEEDS || !existsSync(SEEDS))("conf.py of cluster_train means what the guide's means", () => {
  const guides = readdirSync(SEEDS!).map((name) => readFileSync(join(SEEDS!, name), 'utf8'))
  const [, block] = /```python\n(HOSTS = [\s\S]*?)```/.exec(guides.find((text) => text.includes('PADDLE_NIC = '))!)!
  const own = readFileSync(at('deploy/cluster_train/conf.py'), 'utf8')
  expect(parseClusterConf('conf.py', own)).toEqual(parseClusterConf('conf.py', block!))
})
