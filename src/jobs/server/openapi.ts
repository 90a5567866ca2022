/** @file The server's own description, served at /openapi.json, and the schema of a job, which is also the server's check. */
import { z } from 'zod'
import { JOB_KINDS, POD_FRAMEWORKS, PRIORITIES } from '../../base/config/index.ts'
import { PERMISSIONS } from '../submit/index.ts'
import { HEADERS } from './sign.ts'

export function openApi(version: string) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Oarfish job server',
      version,
      description: [
        'Every request but this one is signed. With AK and SK, the headers are:',
        `${HEADERS.key}: AK`,
        `${HEADERS.time}: milliseconds since 1970, at most five minutes off`,
        `${HEADERS.nonce}: a text that was never used before`,
        `${HEADERS.hash}: SHA-256 of the body, hex`,
        `${HEADERS.signature}: HMAC-SHA256 with SK, hex, of METHOD, PATH?QUERY, time, nonce and body hash, joined by newlines`,
      ].join('\n\n'),
    },
    paths: {
      '/v1/jobs': {
        post: operation(
          'Create a job and announce its files.',
          { 201: 'the ids of the job', ...REFUSALS },
          requestBody(),
        ),
        get: operation('The jobs of this user, newest first.', { 200: 'jobs' }, query('limit')),
      },
      '/v1/checks': {
        post: operation('Check a job as its creation would, and create nothing.', { 200: 'it may come' }),
      },
      '/v1/jobs/{id}': { get: operation('One job.', { 200: 'the job' }, id()) },
      '/v1/jobs/{id}/files/{name}': {
        put: operation(
          'Upload one announced file; `from` is the byte at which an upload that broke off goes on.',
          { 200: 'it is there' },
          { parameters: [...id('name').parameters, ...query('from').parameters] },
        ),
        get: operation('How much of a file has come.', { 200: 'received: bytes' }, id('name')),
      },
      '/v1/jobs/{id}/ready': { post: operation('All files are there: queue the job.', { 200: 'the job' }, id()) },
      '/v1/jobs/{id}/stop': { post: operation('Stop the job.', { 200: 'the job' }, id()) },
      '/v1/jobs/{id}/logs': {
        get: operation(
          'Logs of its processes as text.',
          { 200: 'text' },
          {
            parameters: [...id().parameters, ...query('role', 'rank', 'follow').parameters],
          },
        ),
      },
    },
  }
}

const REFUSALS = {
  400: 'not a job this server can run',
  401: 'not signed, by nobody who is known, or sent before',
  403: 'not in this group, over its quota, or of another priority',
  404: 'no such group',
  413: 'files that are too large',
  507: 'no room on the server',
}

const operation = (summary: string, responses: Readonly<Record<number, string>>, more: object = {}) => ({
  summary,
  ...more,
  responses: Object.fromEntries(Object.entries(responses).map(([status, description]) => [status, { description }])),
})

const parameter = (where: 'path' | 'query') => (name: string) => ({
  name,
  in: where,
  required: where === 'path',
  schema: { type: 'string' },
})
const id = (...more: readonly string[]) => ({ parameters: ['id', ...more].map(parameter('path')) })
const query = (...names: readonly string[]) => ({ parameters: names.map(parameter('query')) })

const requestBody = () => ({
  requestBody: { required: true, content: { 'application/json': { schema: z.toJSONSchema(jobRequestSchema) } } },
})

const resources = z.strictObject({
  cpu: z.int().min(1).optional(),
  memory: z.string().optional(),
  gpu: z.strictObject({ resource: z.string(), cards: z.int().min(1) }).optional(),
})

const path = z.string().optional()

/** What becomes one word of a command or one variable: the system takes none that is longer than 128 KiB, and none with a zero in it. */
const word = z
  .string()
  .max(100_000)
  .refine((value) => !value.includes('\0'), 'expected a text without zeros')

export const fsUgiSchema = z
  .string()
  .max(4096)
  .regex(/^[^\p{Cc}]*$/u, 'expected a text without control characters')
  .optional()

const isEachOnce = (entries: readonly { readonly name: string }[]) =>
  new Set(entries.map(({ name }) => name)).size === entries.length

export const jobRequestSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/, 'expected letters, digits, _, - and . (up to 63)'),
  group: z.string().min(1),
  priority: z.enum(PRIORITIES),
  kind: z.enum(JOB_KINDS),
  roles: z
    .array(z.strictObject({ name: z.enum(['pserver', 'trainer']), replicas: z.int().min(1).max(10_000), resources }))
    .min(1)
    .refine(isEachOnce, 'expected each role once'),
  command: word.min(1),
  env: z.record(z.string().regex(/^[A-Za-z_]\w*$/, 'expected the name of a variable'), word),
  files: z
    .array(
      z.strictObject({
        name: z.string(),
        bytes: z.int().min(0),
        sha256: z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256 in hex'),
      }),
    )
    .max(10_000)
    .refine(isEachOnce, 'expected each name once'),
  pods: z
    .strictObject({
      framework: z.enum(POD_FRAMEWORKS),
      image: z.string().optional(),
      namespace: z.string().optional(),
      scheduler: z.string().optional(),
      serviceAccount: z.string().optional(),
      pullSecrets: z.array(z.string()).optional(),
      maxRetry: z.int().min(0).optional(),
    })
    .optional(),
  wallSeconds: z.int().min(1).optional(),
  permission: z.enum(PERMISSIONS).optional(),
  version: z.string().max(200).optional(),
  remark: z.string().max(1000).optional(),
  data: z.strictObject({ fileSystem: path, train: path, test: path, thirdparty: path, mount: path, output: path }),
})
