/** @file What the Kubernetes API refuses, in words that name the thing and the fix. Pure. */
import { UserError, type UserErrorOptions } from '../../base/util/index.ts'

/** A refusal with its HTTP status, for those that handle some of them. */
export class KubeError extends UserError {
  readonly status: number

  constructor(status: number, message: string, options: UserErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** What the API answers in place of an object. */
export interface ApiStatus {
  readonly message?: string
  readonly reason?: string
  readonly details?: { readonly name?: string; readonly kind?: string; readonly group?: string }
}

export interface Asked {
  readonly server: string
  /** `POST /apis/...`. */
  readonly request: string
  readonly proxy: string | undefined
}

/** `body` is the text of the answer: a Status where the API server itself speaks. */
export function refusedError(status: number, body: string, asked: Asked): KubeError {
  const said = statusIn(body) ?? (NO_GROUP.test(body) ? { message: NO_KIND } : undefined)
  if (!said) return strangerError(status, body, asked)
  const message = said.message ?? `The API server answered ${status} to ${asked.request}.`
  const rule = RULES.find(({ when, matches }) => when.includes(status) && matches.test(message))
  const { code, says, hint } = rule ?? OTHER
  const found = rule?.matches.exec(message) ?? [message]
  return new KubeError(status, says(found, message), { code, hint: hint(found, asked) })
}

/** How a group of the API that is not there answers, and what the server says where only the kind is missing. */
const NO_GROUP = /^404 page not found\s*$/
const NO_KIND = 'the server could not find the requested resource'

function statusIn(body: string): ApiStatus | undefined {
  try {
    const value = JSON.parse(body) as ApiStatus & { readonly kind?: string }
    return value.kind === 'Status' ? value : undefined
  } catch {
    return undefined
  }
}

type Found = RegExpExecArray | readonly string[]

interface Rule {
  readonly when: readonly number[]
  readonly matches: RegExp
  readonly code: string
  readonly says: (found: Found, message: string) => string
  readonly hint: (found: Found, asked: Asked) => string
}

const plain = (_found: Found, message: string) => sentence(message)

/** The first that fits; from the particular to the general. */
const RULES: readonly Rule[] = [
  {
    when: [401],
    matches: /.*/,
    code: 'KUBE_UNAUTHORIZED',
    says: () => 'The API server does not take these credentials: the token is wrong or has expired.',
    hint: (_found, { server }) =>
      `Log in to ${server} again, or download its kubeconfig anew; kubectl get nodes then works too.`,
  },
  {
    when: [403],
    matches:
      /^(?:\S+ (?:"[^"]*" )?is forbidden: )?User "([^"]+)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)"| at the cluster scope)?/,
    code: 'KUBE_FORBIDDEN',
    says: ([, user, verb, resource, group, namespace]) =>
      `${user} may not ${verb} ${group ? `${resource}.${group}` : resource}${namespace ? ` in namespace ${namespace}` : ''}.`,
    hint: ([, user, verb, resource, group, namespace]) => grantOf({ user, verb, resource, group, namespace }),
  },
  {
    when: [403],
    matches: /exceeded quota: ([^,]+), requested: (.*), used: (.*), limited: (.*)$/,
    code: 'KUBE_QUOTA',
    says: ([, quota, requested, used, limited]) =>
      `The quota ${quota} of the namespace is exceeded: a pod asks for ${requested}, used are ${used} of ${limited}.`,
    hint: () =>
      'Ask for fewer or smaller pods (k8s_trainers, k8s_cpu_cores, k8s_memory), end other jobs, or have the quota raised.',
  },
  {
    when: [403],
    matches: /failed quota: (\S+): must specify (.*)$/,
    code: 'KUBE_QUOTA',
    says: ([, quota, what]) => `The quota ${quota} of the namespace wants every pod to say its ${what}.`,
    hint: () => 'Set k8s_memory, k8s_ps_memory, k8s_cpu_cores and k8s_ps_cores.',
  },
  {
    when: [403],
    matches: /no PriorityClass with name (\S+) was found/,
    code: 'KUBE_PRIORITY',
    says: ([, name]) => `There is no PriorityClass ${name}.`,
    hint: ([, name]) => `Make it: kubectl create priorityclass ${name} --value=1000`,
  },
  {
    when: [403],
    matches: /error looking up service account ([^/]+)\/(\S+?):/,
    code: 'KUBE_SERVICE_ACCOUNT',
    says: ([, namespace, name]) => `There is no service account ${name} in namespace ${namespace}.`,
    hint: ([, namespace, name]) => `Make it: kubectl -n ${namespace} create serviceaccount ${name}`,
  },
  {
    when: [400, 403, 422, 500],
    matches:
      /(?:unable to find job queue|can not get queue info)[^"]*"([^"]+)"|queue `?([^\s`]+)`? (?:not found|does not exist)/,
    code: 'KUBE_QUEUE',
    says: ([, one, other]) => `There is no queue ${one ?? other}.`,
    hint: () => 'submit.group names the queue: use one of "kubectl get queues", or make it.',
  },
  {
    when: [404],
    matches: /^namespaces "([^"]+)" not found/,
    code: 'KUBE_NAMESPACE',
    says: ([, name]) => `There is no namespace ${name}.`,
    hint: ([, name]) => `Make it: kubectl create namespace ${name}`,
  },
  {
    when: [404],
    matches: /^the server could not find the requested resource/,
    code: 'KUBE_NO_KIND',
    says: () => 'The cluster does not know this kind of object.',
    hint: (_found, { request }) => installOf(request),
  },
  {
    when: [404],
    matches: /.*/,
    code: 'KUBE_NOT_FOUND',
    says: plain,
    hint: () => 'It may have ended and been deleted; see: oarfish jobs',
  },
  {
    when: [409],
    matches: /^\S+ "([^"]+)" already exists/,
    code: 'KUBE_EXISTS',
    says: ([, name], message) =>
      message.startsWith('object is being deleted') ? sentence(message) : `There is a job ${name} already.`,
    hint: () => 'Give submit.job_name another name, or replace it with --force.',
  },
  {
    when: [400, 403, 422],
    matches: /admission webhook "([^"]+)" denied the request:\s*(.*)/s,
    code: 'KUBE_REFUSED',
    says: ([, webhook, why]) => `The cluster refused the job (${webhook}): ${sentence(why ?? '')}`,
    hint: () => 'oarfish run ... --dry-run prints what was sent.',
  },
]

const OTHER: Pick<Rule, 'code' | 'says' | 'hint'> = {
  code: 'KUBE_REFUSED',
  says: (_found, message) => `The cluster refused it: ${sentence(message)}`,
  hint: () => 'oarfish run ... --dry-run prints what was sent.',
}

const sentence = (text: string) => `${text.trim().replace(/[.;]$/, '')}.`

interface Grant {
  readonly user?: string | undefined
  readonly verb?: string | undefined
  readonly resource?: string | undefined
  readonly group?: string | undefined
  readonly namespace?: string | undefined
}

/** The commands that would give exactly the right that is missing. */
function grantOf({ user = '', verb = '', resource = '', group, namespace }: Grant): string {
  const account = /^system:serviceaccount:([^:]+):(.+)$/.exec(user)
  const whom = account ? `--serviceaccount=${account[1]}:${account[2]}` : `--user=${user}`
  const what = group ? `${resource}.${group}` : resource
  const name = `oarfish-${verb}-${resource.replace('/', '-')}`
  const scope = namespace === undefined ? 'cluster' : ''
  const within = namespace === undefined ? '' : ` -n ${namespace}`
  return [
    'An administrator can allow it:',
    `kubectl${within} create ${scope}role ${name} --verb=${verb} --resource=${what}`,
    `kubectl${within} create ${scope}rolebinding ${name} --${scope}role=${name} ${whom}`,
  ].join('\n')
}

function installOf(request: string): string {
  if (request.includes('volcano.sh'))
    return 'Volcano is not installed: install it (https://volcano.sh), or set submit.k8s_framework: job to do without.'
  if (request.includes('paddlepaddle.org'))
    return "PaddlePaddle's operator is not installed: install it, or set submit.k8s_framework: volcano."
  return `Is this a Kubernetes API server? It was asked for ${request}.`
}

/** Somebody else than the API server has answered. */
function strangerError(status: number, body: string, { server, request, proxy }: Asked): KubeError {
  const said = body.trim().slice(0, 200)
  if (proxy !== undefined) return proxyError(status, proxy, server)
  return new KubeError(status, `${server} answered ${status} to ${request}${said ? `: ${said}` : ''}`, {
    code: 'KUBE_UNREACHABLE',
    hint: 'That is not how an API server answers: check the address in the kubeconfig, and what stands between here and there.',
  })
}

export function proxyError(status: number, proxy: string, server: string): KubeError {
  const what = status === 403 ? 'Forbidden' : String(status)
  return new KubeError(status, `The proxy ${withoutPassword(proxy)} answered ${what} for ${server}.`, {
    code: 'KUBE_PROXY',
    hint: `Do without it: export NO_PROXY=${new URL(server).hostname}\nor unset HTTPS_PROXY https_proxy; a proxy-url in the kubeconfig has the same effect.`,
  })
}

/** Nobody has answered. */
export function networkError(error: NodeJS.ErrnoException, { server, proxy }: Asked): UserError {
  const refusedByProxy = /bad response: (\d+)/i.exec(error.message)
  if (proxy !== undefined && refusedByProxy) return proxyError(Number(refusedByProxy[1]), proxy, server)
  const through = proxy === undefined ? '' : ` (through the proxy ${withoutPassword(proxy)})`
  const code = error.code ?? ''
  const hint =
    NETWORK[code] ?? (isTls(code) ? TLS_HINT : `Check the address in the kubeconfig with: kubectl cluster-info`)
  return new UserError(`${server} cannot be reached${through}: ${error.message || code}.`, {
    code: isTls(code) ? 'KUBE_TLS' : 'KUBE_UNREACHABLE',
    hint,
    cause: error,
  })
}

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens there: is the cluster up, and is this the address it has now?',
  ENOTFOUND: 'Nobody knows that name: check the server in the kubeconfig, and DNS.',
  ETIMEDOUT: 'No answer came: a firewall or a VPN may stand between.',
}

const TLS_HINT = 'The certificate does not fit the kubeconfig: download it again from your cluster.'

const isTls = (code: string) => /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)

const withoutPassword = (url: string) => url.replace(/\/\/[^@/]*@/, '//')
