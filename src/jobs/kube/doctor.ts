/** @file Whether a cluster is ready for jobs: each check says what it found and, where something is wrong, what to do. */
import type { V1Node, V1Pod, VersionInfo } from '@kubernetes/client-node'
import { isUserError } from '../../base/util/index.ts'
import { type ConnectOptions, connectKube, type KubeClient, type KubeObject } from './client.ts'
import { RESOURCES } from './paths.ts'

export interface Finding {
  readonly check: string
  /** Undefined: could not be looked at, because of what failed before. */
  readonly ok: boolean | undefined
  readonly text: string
  readonly fix?: string
}

export interface DoctorOptions extends ConnectOptions {
  /** Where Volcano's own pods are. */
  readonly volcanoNamespace: string
}

/** In order; after one that nothing can be done without, the rest is left out. */
export async function* examine({ volcanoNamespace, ...options }: DoctorOptions): AsyncGenerator<Finding> {
  const { client, ...opened } = await open(options)
  yield opened.finding
  if (!client) return yield* skipped(['server', ...CHECKS.map(([name]) => name)])
  const reached = await found('server', async () => await server(client))
  yield reached
  if (!reached.ok) return yield* skipped(CHECKS.map(([name]) => name))
  const elsewhere = await connectKube({ ...options, namespace: volcanoNamespace })
  for (const [name, check] of CHECKS) yield await found(name, async () => await check(client, elsewhere))
}

type Answer = Omit<Finding, 'check'>

const ok = (text: string): Answer => ({ ok: true, text })
const wrong = (text: string, fix: string): Answer => ({ ok: false, text, fix })

async function open(options: ConnectOptions): Promise<{ client?: KubeClient; finding: Finding }> {
  try {
    const client = await connectKube(options)
    const proxy = client.proxy === undefined ? 'no proxy' : `through the proxy ${client.proxy}`
    const text = `context ${client.context}, ${client.server}, namespace ${client.namespace}, ${proxy}`
    return { client, finding: { check: 'kubeconfig', ...ok(text) } }
  } catch (error) {
    return { finding: { check: 'kubeconfig', ...failed(error) } }
  }
}

async function found(check: string, look: () => Promise<Answer>): Promise<Finding> {
  return { check, ...(await look().catch(failed)) }
}

function failed(error: unknown): Answer {
  if (!isUserError(error)) throw error
  return wrong(error.message, error.hint ?? '')
}

function* skipped(checks: readonly string[]): Generator<Finding> {
  for (const check of checks) yield { check, ok: undefined, text: 'not looked at' }
}

const OLDEST = 24 // Indexed Jobs, which jobs without Volcano are
const OWN = 'Kubernetes 1.34' // of the client library

export async function server(client: Pick<KubeClient, 'get'>): Promise<Answer> {
  const { gitVersion, major, minor } = await client.get<VersionInfo>('/version')
  const text = `client: API of ${OWN}; server: Kubernetes ${gitVersion}`
  const isNew = Number(major) > 1 || Number.parseInt(minor, 10) >= OLDEST
  return isNew ? ok(text) : wrong(text, `Jobs need Kubernetes 1.${OLDEST} or later.`)
}

type Check = (client: KubeClient, volcano: KubeClient) => Promise<Answer>

const CHECKS: readonly (readonly [string, Check])[] = [
  ['nodes', nodes],
  ['cores', enoughCores],
  ['volcano', async (_client, volcano) => await volcanoReady(volcano)],
  ['queues', queues],
  ['rights', rights],
]

export async function nodes(client: Pick<KubeClient, 'list'>): Promise<Answer> {
  const { items } = await client.list<V1Node>(RESOURCES.Node)
  const away = items.filter((node) => !isReady(node)).map(({ metadata }) => metadata?.name)
  if (items.length === 0) return wrong('The cluster has no nodes.', 'Add one; without nodes no pod can run.')
  const text = `${items.length - away.length} of ${items.length} ready`
  if (away.length === 0) return ok(text)
  return wrong(`${text}; not ready: ${away.join(', ')}.`, `See why: kubectl describe node ${away[0]}`)
}

const isReady = ({ status }: V1Node | V1Pod) =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false

const NEEDED_CORES = 4

/** The guide's job has two servers and two trainers of one core each, and room beside them. */
export async function enoughCores(client: Pick<KubeClient, 'list'>): Promise<Answer> {
  const { items } = await client.list<V1Node>(RESOURCES.Node)
  const usable = items.filter((node) => isReady(node) && !node.spec?.unschedulable)
  const total = usable.reduce((sum, { status }) => sum + cores(status?.allocatable?.['cpu'] ?? '0'), 0)
  const text = `${total} in all`
  if (total > NEEDED_CORES) return ok(text)
  return wrong(`${text}; more than ${NEEDED_CORES} are needed.`, 'Add nodes, or larger ones.')
}

/** Its API, and its own pods: without the webhook or the scheduler jobs would be taken and never run. */
export async function volcanoReady(client: Pick<KubeClient, 'get' | 'list' | 'namespace'>): Promise<Answer> {
  await client.get('/apis/batch.volcano.sh/v1alpha1')
  const { items } = await client.list<V1Pod>(RESOURCES.Pod)
  const own = items.filter(({ status }) => status?.phase !== 'Succeeded')
  const away = own.filter((pod) => !isReady(pod)).map(({ metadata }) => metadata?.name)
  const where = client.namespace
  if (own.length === 0)
    return wrong(
      `Volcano has no pods in namespace ${where}.`,
      `Install it (https://volcano.sh), or name where it is: --volcano-namespace NAME`,
    )
  if (away.length === 0) return ok(`${own.length} pods ready in ${where}`)
  return wrong(`Not ready in ${where}: ${away.join(', ')}.`, `See why: kubectl -n ${where} describe pod ${away[0]}`)
}

interface Queue extends KubeObject {
  readonly status?: { readonly state?: string }
}

export async function queues(client: Pick<KubeClient, 'list'>): Promise<Answer> {
  const { items } = await client.list<Queue>(RESOURCES.Queue)
  const open = items.filter(({ status }) => status?.state === 'Open').map(({ metadata }) => metadata.name)
  const names = open.filter((name) => name !== 'root')
  if (names.length > 0) return ok(names.join(', '))
  return wrong('There is no open queue.', 'Make one: submit.group of a job names it.')
}

/** What `oarfish run -b`, `logs`, `status` and `stop` ask of the cluster. */
const NEEDED: readonly (readonly [group: string, resource: string, verbs: readonly string[]])[] = [
  ['batch.volcano.sh', 'jobs', ['create', 'list', 'watch', 'delete']],
  ['', 'pods', ['get', 'list', 'watch', 'create']],
  ['', 'pods/log', ['get']],
  ['', 'persistentvolumeclaims', ['get']],
  ['', 'events', ['list', 'watch']],
  ['', 'configmaps', ['create', 'patch', 'delete']],
  ['', 'secrets', ['create', 'patch', 'delete']],
  ['', 'serviceaccounts', ['create', 'patch', 'delete']],
  ['rbac.authorization.k8s.io', 'roles', ['create', 'patch', 'delete']],
  ['rbac.authorization.k8s.io', 'rolebindings', ['create', 'patch', 'delete']],
]

interface Review extends KubeObject {
  readonly status?: { readonly allowed?: boolean }
}

export async function rights(client: Pick<KubeClient, 'create' | 'namespace'>): Promise<Answer> {
  const { namespace } = client
  const asked = NEEDED.flatMap(([group, resource, verbs]) => verbs.map((verb) => ({ group, resource, verb })))
  const missing: string[] = []
  for (const { group, resource, verb } of asked) {
    const [name, subresource] = resource.split('/')
    const attributes = { namespace, group, resource: name, verb, subresource }
    const review = { ...REVIEW, spec: { resourceAttributes: attributes } } as Review
    const { status } = await client.create(review)
    if (!status?.allowed) missing.push(`${verb} ${group ? `${resource}.${group}` : resource}`)
  }
  if (missing.length === 0) return ok(`all ${asked.length} in namespace ${namespace}`)
  return wrong(
    `Missing in namespace ${namespace}: ${missing.join(', ')}.`,
    'Have them given: deploy/kubernetes/submitter.yaml is a Role with them.',
  )
}

const { apiVersion, kind } = RESOURCES.SelfSubjectAccessReview
const REVIEW = { apiVersion, kind, metadata: { name: '' } }

/** `4`, `500m` or `1.5` as cores. */
function cores(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+)(m|k)?$/.exec(text) ?? []
  const scale = { m: 0.001, k: 1000 }[unit] ?? 1
  return Number(number) * scale
}
