/** @file The page as it is sent: one file, its scripts and styles named by their hashes, so that a browser runs nothing else. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { packageFile, UserError } from '../../base/util/index.ts'

export interface Page {
  readonly html: Buffer
  readonly zipped: Buffer
  readonly policy: string
}

/** `kind` is what the page shows: runs, or the jobs of a server, which one signs in to. */
export function readPage(path = packageFile('dist/page/index.html'), kind: 'runs' | 'jobs' = 'runs'): Page {
  if (!existsSync(path))
    throw new UserError('The page of the dashboard is not built.', { code: 'DASHBOARD_PAGE', hint: 'npm run build' })
  const text = readFileSync(path, 'utf8').replace('<html', `<html data-kind="${kind}"`)
  const html = Buffer.from(text)
  const hashes = (tag: string) =>
    [...text.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))]
      .map(([, body]) => `'sha256-${createHash('sha256').update(body!).digest('base64')}'`)
      .join(' ')
  const policy = [
    "default-src 'none'",
    `script-src ${hashes('script')}`,
    `style-src ${hashes('style')}`,
    "connect-src 'self'",
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  return { html, zipped: gzipSync(html, { level: 9 }), policy }
}
