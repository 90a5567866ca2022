/** @file A machine of somebody who has never used Oarfish: an empty folder, a fresh HOME, and npm with its package cache. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

export interface FreshMachine {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
}

export function freshMachine(name: string): FreshMachine {
  const folder = mkdtempSync(join(tmpdir(), `oarfish-${name}-`))
  const home = join(folder, 'home')
  mkdirSync(home)
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8', cwd: ROOT }).trim()
  const npm = {
    npm_config_cache: process.env['npm_config_cache'] ?? join(homedir(), '.npm'),
    npm_config_registry: registry,
  }
  const path = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter)
  const quiet = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' }
  return { folder, env: { PATH: path, HOME: home, LANG: 'C.UTF-8', ...npm, ...quiet } }
}

/** Code blocks of a page: their language and text, in order. */
export function blocksOf(markdown: string): readonly { readonly language: string; readonly code: string }[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].map(([, language, code]) => ({
    language: language!,
    code: code!,
  }))
}
