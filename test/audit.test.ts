/** @file What an installation brings in: `npm run audit` without its question to a registry. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { lockFindings } from '../scripts/audit.mjs'

const LOCK = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  readonly packages: Record<string, Record<string, unknown>>
}

test('every locked package has a checksum, a licence that may be used, and no unknown install script', () => {
  expect(Object.keys(LOCK.packages).length).toBeGreaterThan(100)
  expect(lockFindings(LOCK)).toEqual([])
})

test.each([
  [{ integrity: undefined }, 'no integrity'],
  [{ integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, 'no SHA-512'],
  [{ resolved: 'elsewhere/yaml.tgz' }, 'names where it came from'],
  [{ license: 'GPL-3.0' }, 'licence "GPL-3.0"'],
  [{ license: '(MIT AND GPL-3.0)' }, 'licence "(MIT AND GPL-3.0)"'],
  [{ license: undefined }, 'licence "unknown"'],
  [{ hasInstallScript: true }, 'install script'],
])('%j is a finding', (changed, finding) => {
  const yaml = { ...LOCK.packages['node_modules/yaml'], ...changed }
  expect(lockFindings({ packages: { 'node_modules/yaml': yaml } })).toEqual([expect.stringContaining(finding)])
})
