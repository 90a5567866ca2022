/** @file The server's own description, served at /openapi.json. */
import { z } from 'zod'
import { jobRequestSchema } from './request-schema.ts'
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
