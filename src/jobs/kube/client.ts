/** @file The Kubernetes API as a few typed requests: every failure is a UserError, every request has a deadline. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { text as readText } from 'node:stream/consumers'
import type { V1ListMeta, V1ObjectMeta } from '@kubernetes/client-node'
import { defined, UserError } from '../../base/util/index.ts'
import { type Asked, networkError, refusedError } from './errors.ts'
import { type Access, type KubeOptions, openAccess } from './kubeconfig.ts'
import { pathOf, RESOURCES, type Resource, resourceOf } from './paths.ts'

export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string } & Omit<V1ObjectMeta, 'name'>
}

export interface KubeList<T> {
  readonly metadata: V1ListMeta
  readonly items: readonly T[]
}

export interface Selection {
  readonly labels?: string
  readonly fields?: string
}

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: T
}

export interface KubeClient {
  readonly server: string
  readonly context: string
  readonly namespace: string
  readonly proxy: string | undefined
  /** `dryRun`: the cluster checks it and keeps nothing. Fields that it does not know are an error. */
  create<T extends KubeObject>(object: T, options?: { readonly dryRun?: boolean }): Promise<T>
  read<T>(resource: Resource, name: string): Promise<T>
  list<T>(resource: Resource, selection?: Selection): Promise<KubeList<T>>
  /** Merges into what is there. */
  patch(resource: Resource, name: string, change: unknown): Promise<void>
  /** What it owns goes with it. */
  remove(resource: Resource, name: string): Promise<void>
  /** Changes after `version` until the server ends the watch (after minutes) or `signal` comes. */
  watch<T>(
    resource: Resource,
    selection: Selection & { version?: string | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>>
  /** Bytes of a container's log; with `follow` until the container has ended. */
  logs(pod: string, options: PodLogOptions): Promise<AsyncIterable<Buffer>>
  /** Any other path: `/version`. */
  get<T>(path: string): Promise<T>
}

export interface PodLogOptions {
  readonly container?: string | undefined
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ConnectOptions extends KubeOptions {
  /** In place of the context's. */
  readonly namespace?: string | undefined
}

const DEADLINE_MS = 30_000

/** Reads the kubeconfig; nothing is asked of the cluster yet. */
export async function connectKube(options: ConnectOptions): Promise<KubeClient> {
  const access = await openAccess(options)
  const { server, context, proxy } = access
  const namespace = options.namespace ?? access.namespace ?? 'default'
  const send = async (call: Call) => await sendRequest(access, call)
  const json = async <T>(call: Call) => JSON.parse(await readText(await send(call))) as T
  return {
    server,
    context,
    namespace,
    proxy,
    create: async (object, { dryRun = false } = {}) => {
      const path = pathOf(resourceOf(object), namespace)
      const query = { fieldValidation: 'Strict', dryRun: dryRun ? 'All' : undefined }
      return await json({ method: 'POST', path, query, body: object })
    },
    read: async (resource, name) => await json({ method: 'GET', path: pathOf(resource, namespace, name) }),
    list: async (resource, selection = {}) =>
      await json({ method: 'GET', path: pathOf(resource, namespace), query: queryOf(selection) }),
    patch: async (resource, name, change) => {
      await json({ method: 'PATCH', path: pathOf(resource, namespace, name), body: change })
    },
    remove: async (resource, name) => {
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }
      await json({ method: 'DELETE', path: pathOf(resource, namespace, name), body })
    },
    watch: async function* (resource, { version, ...selection }, signal) {
      const query = { ...queryOf(selection), watch: 'true', resourceVersion: version || undefined }
      const response = await send({ method: 'GET', path: pathOf(resource, namespace), query, signal })
      for await (const line of linesOf(response, signal)) {
        const event = JSON.parse(line)
        if (event.type === 'ERROR') return // too old a version: whoever watches lists anew
        if (event.type !== 'BOOKMARK') yield event
      }
    },
    logs: async (pod, { container, follow = false, signal }) => {
      const query = { container, follow: follow ? 'true' : undefined }
      const path = `${pathOf(RESOURCES.Pod, namespace, pod)}/log`
      return await send({ method: 'GET', path, query, signal })
    },
    get: async (path) => await json({ method: 'GET', path }),
  }
}

const queryOf = ({ labels, fields }: Selection): Query => ({ labelSelector: labels, fieldSelector: fields })

type Query = Readonly<Record<string, string | undefined>>

interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Query | undefined
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Resolves when the head of the answer is there; its body may go on for as long as it likes. */
async function sendRequest(
  { server, proxy, authorize }: Access,
  { method, path, query = {}, body, signal }: Call,
): Promise<IncomingMessage> {
  const asked: Asked = { server, proxy, request: `${method} ${path}` }
  const url = new URL(server.replace(/\/$/, '') + path)
  for (const [name, value] of Object.entries(defined(query))) url.searchParams.set(name, value)
  const content = body === undefined ? undefined : JSON.stringify(body)
  const options: RequestOptions = { method, timeout: DEADLINE_MS, signal }
  await authorize(options).catch(unusable)
  options.headers = { ...options.headers, accept: 'application/json', ...contentHeaders(method, content) }
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest
  return await new Promise((done, fail) => {
    const sent = start(url, options, (response) => {
      sent.setTimeout(0)
      if ((response.statusCode ?? 500) < 300) done(response)
      else readText(response).then((text) => fail(refusedError(response.statusCode!, text, asked)), fail)
    })
    const late = () => sent.destroy(new Error(`no answer within ${DEADLINE_MS / 1000} s`))
    sent.on('timeout', late)
    sent.on('error', (error: NodeJS.ErrnoException) => fail(signal?.aborted ? error : networkError(error, asked)))
    sent.end(content)
  })
}

function unusable(error: Error): never {
  throw new UserError(`The credentials of the kubeconfig cannot be used: ${error.message}`, {
    code: 'KUBE_CONFIG',
    hint: 'The command or file that it names must be here: check users: in the kubeconfig.',
    cause: error,
  })
}

async function* linesOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<string> {
  response.setEncoding('utf8')
  let rest = ''
  try {
    for await (const text of response) {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      yield* lines
    }
  } catch (error) {
    if (!signal.aborted && (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
  }
}

const contentHeaders = (method: Call['method'], content: string | undefined) =>
  content === undefined
    ? {}
    : {
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        'content-length': Buffer.byteLength(content),
      }
