/** @file How answers and the page are sent: nothing is kept by a browser, nothing is taken for what it is not. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Page } from './page-file.ts'

export const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

export const takesGzip = (request: IncomingMessage) => /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))

export function sendJson(request: IncomingMessage, response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { ...SAFE_HEADERS, 'content-type': 'application/json' })
  response.end(request.method === 'HEAD' ? undefined : `${JSON.stringify(value)}\n`)
}

export function sendPage(
  request: IncomingMessage,
  response: ServerResponse,
  page: Page,
  more: Readonly<Record<string, string>> = {},
): void {
  const isZipped = takesGzip(request)
  response.writeHead(200, {
    ...SAFE_HEADERS,
    ...more,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': page.policy,
    ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : isZipped ? page.zipped : page.html)
}
