/** @file Which cluster, and as whom: KUBECONFIG, ~/.kube/config, or the account of the pod this runs in. */
import { existsSync, readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { isIPv6 } from 'node:net'
import { delimiter, join } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import type { Env } from '../../base/env/index.ts'
import { UserError } from '../../base/util/index.ts'

export interface KubeOptions {
  readonly env: Env
  /** In place of KUBECONFIG. */
  readonly kubeconfig?: string | undefined
  /** In place of the kubeconfig's current one. */
  readonly context?: string | undefined
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** One cluster, and how its requests are let in. */
export interface Access {
  readonly server: string
  readonly proxy: string | undefined
  readonly context: string
  readonly namespace: string | undefined
  /** Adds certificates and tokens; a credential plug-in of the kubeconfig runs here. */
  readonly authorize: (options: RequestOptions) => Promise<void>
}

/** A proxy of the environment is used as kubectl uses it. */
export async function openAccess(options: KubeOptions): Promise<Access> {
  const files = filesOf(options)
  // Programs of pods wait for this: the library takes half a second of a core to load, and an account needs none of it.
  if (!files && proxyFor(accountServer(options.env), options.env) === undefined) return accountAccess(options.env)
  const config = await loadKubeconfig(options, files)
  const { server, proxyUrl: proxy } = config.getCurrentCluster()!
  const context = config.getCurrentContext()
  const namespace = config.getContextObject(context)?.namespace
  return { server, proxy, context, namespace, authorize: async (request) => await config.applyToHTTPSOptions(request) }
}

function accountAccess(env: Env): Access {
  const ca = readFileSync(join(ACCOUNT, 'ca.crt'))
  return {
    server: accountServer(env),
    proxy: undefined,
    context: 'pod',
    namespace: accountNamespace(),
    authorize: async (request) => {
      const token = readFileSync(join(ACCOUNT, 'token'), 'utf8').trim() // read again as it is renewed
      Object.assign(request, { ca, headers: { ...request.headers, authorization: `Bearer ${token}` } })
    },
  }
}

/** The client library's description of one cluster and user. */
async function loadKubeconfig(options: KubeOptions, files: readonly string[] | undefined): Promise<KubeConfig> {
  const client = await clientLibrary()
  const config = new client.KubeConfig()
  if (files)
    for (const file of files) config.mergeConfig(read(new client.KubeConfig(), file), config.contexts.length > 0)
  else loadAccount(config, options.env)
  if (options.context !== undefined) config.setCurrentContext(options.context)
  const cluster = config.getCurrentCluster()
  if (!cluster) throw noContext(config, files ?? [])
  const proxyUrl = cluster.proxyUrl ?? proxyFor(cluster.server, options.env)
  const clusters = config.clusters.map((each) => (each === cluster && proxyUrl ? { ...each, proxyUrl } : each))
  config.loadFromOptions({ ...config, clusters })
  return config
}

/** An optional dependency: most installations speak to no cluster, and it is a sixth of what is installed. */
async function clientLibrary() {
  try {
    return await import('@kubernetes/client-node')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new UserError('A kubeconfig is read by @kubernetes/client-node, which is not installed here.', {
      code: 'KUBE_CLIENT',
      hint: 'It was left out when oarfish was installed (--omit=optional): npm install --ignore-scripts @kubernetes/client-node@~1.4.0',
      cause: error,
    })
  }
}

/** Undefined where the pod's own account is to be used. */
function filesOf({ env, kubeconfig }: KubeOptions): readonly string[] | undefined {
  const named = kubeconfig ?? env['KUBECONFIG'] ?? ''
  const files = named.split(delimiter).filter((file) => file !== '')
  if (files.length > 0) {
    // kubectl passes over those of a list that are not there.
    const there = files.filter((file) => existsSync(file))
    if (there.length > 0) return there
    throw noKubeconfig(`There is no ${files.join(' and no ')}.`)
  }
  const home = join(env['HOME'] ?? '/', '.kube', 'config')
  if (existsSync(home)) return [home]
  if (env['KUBERNETES_SERVICE_HOST'] !== undefined && existsSync(join(ACCOUNT, 'token'))) return undefined
  throw noKubeconfig(`There is no kubeconfig: KUBECONFIG is not set, there is no ${home}, and this is not a pod.`)
}

function read(config: KubeConfig, file: string): KubeConfig {
  try {
    config.loadFromFile(file)
    return config
  } catch (error) {
    throw new UserError(`${file} is no kubeconfig: ${(error as Error).message}`, {
      code: 'KUBE_CONFIG',
      where: { file },
      hint: 'Download it again from your cluster, or check it with: kubectl config view',
      cause: error,
    })
  }
}

function loadAccount(config: KubeConfig, env: Env): void {
  const authProvider = { name: 'tokenFile', config: { tokenFile: join(ACCOUNT, 'token') } } // read again as it is renewed
  config.loadFromOptions({
    clusters: [{ name: 'pod', server: accountServer(env), caFile: join(ACCOUNT, 'ca.crt'), skipTLSVerify: false }],
    users: [{ name: 'pod', authProvider }],
    contexts: [{ name: 'pod', cluster: 'pod', user: 'pod', namespace: accountNamespace() }],
    currentContext: 'pod',
  })
}

function accountServer(env: Env): string {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? ''
  return `https://${isIPv6(host) ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? '443'}`
}

const accountNamespace = () => readFileSync(join(ACCOUNT, 'namespace'), 'utf8').trim()

const noKubeconfig = (message: string) =>
  new UserError(message, {
    code: 'KUBE_CONFIG',
    hint: "Put your cluster's kubeconfig there, or name it: export KUBECONFIG=/path/to/kubeconfig",
  })

function noContext(config: KubeConfig, files: readonly string[]): UserError {
  const names = config.contexts.map(({ name }) => name)
  const wanted = config.getCurrentContext()
  const message = wanted
    ? `The kubeconfig has no context ${wanted} that leads to a cluster.`
    : 'The kubeconfig has no current context.'
  return new UserError(message, {
    code: 'KUBE_CONFIG',
    where: files[0] === undefined ? undefined : { file: files[0] },
    hint:
      names.length > 0
        ? `Choose one of ${names.join(', ')}: kubectl config use-context ${names[0]}`
        : 'It names no context at all.',
  })
}

/** Undefined where none is set, the server is on this host, or NO_PROXY excepts it. */
export function proxyFor(server: string, env: Env): string | undefined {
  const { protocol, hostname } = new URL(server)
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const proxy = env[name] ?? env[name.toLowerCase()] ?? ''
  if (proxy === '' || isHere(hostname)) return undefined
  const excepted = (env['NO_PROXY'] ?? env['no_proxy'] ?? '').split(',').map((entry) => entry.trim())
  return excepted.some((entry) => covers(entry, hostname)) ? undefined : proxy
}

const isHere = (host: string) => host === 'localhost' || host === '[::1]' || host.startsWith('127.')

/** `*`, a name with what stands below it, an address, or a range of them (`10.0.0.0/8`). */
function covers(entry: string, host: string): boolean {
  if (entry === '' || entry === '*') return entry === '*'
  const [address = '', bits] = entry.split('/')
  if (bits !== undefined) return inRange(host, address, Number(bits))
  const name = entry.replace(/^\*?\./, '').replace(/:\d+$/, '')
  return host === name || host.endsWith(`.${name}`)
}

function inRange(host: string, base: string, bits: number): boolean {
  const [one, other] = [numberOf(host), numberOf(base)]
  if (one === undefined || other === undefined) return false
  const size = 2 ** (32 - bits)
  return Math.floor(one / size) === Math.floor(other / size)
}

function numberOf(address: string): number | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1).map(Number)
  return parts?.reduce((sum, part) => sum * 256 + part, 0)
}
