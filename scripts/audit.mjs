/**
 * @file `npm run audit`: what an installation brings in. Every entry of the lock file has a checksum and names no registry, licences are
 * among those that may be used, install scripts are known, and no advisory is known where a registry answers. Ends with 1 on a finding.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { at } from './setup.mjs'

/** Licences whose terms a user of the package can keep without doing anything. MPL-2.0 binds changes to its own files only. */
const LICENCES = new Set([
  'MIT',
  'Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'MPL-2.0',
  'Python-2.0',
  'Unlicense',
  'CC0-1.0',
  '0BSD',
  'BlueOak-1.0.0',
])

/** Packages with an install script, and why they work without it: scripts are off here (.npmrc). */
export const INSTALL_SCRIPTS = {
  koffi: 'builds from source where no binary fits; binaries are in the package',
  'onnxruntime-node': 'fetches CUDA libraries; those for the CPU are in the package',
}

/** npm takes SHA-1 as well, for which two packages of one checksum can be made. */
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/

/** What is wrong with a lock file, a line each. */
export function lockFindings({ packages }) {
  return Object.entries(packages).flatMap(([path, entry]) => {
    if (path === '' || entry.link) return []
    const name = path.replace(/^.*node_modules\//, '')
    const findings = []
    if (!entry.integrity) findings.push('has no integrity: nothing tells whether it is what was locked')
    else if (!SHA512.test(entry.integrity)) findings.push(`has ${entry.integrity} for integrity, which is no SHA-512`)
    if (entry.resolved)
      findings.push(`names where it came from (${entry.resolved}): see omit-lockfile-registry-resolved in .npmrc`)
    if (!isAllowed(entry.license))
      findings.push(`has the licence "${entry.license ?? 'unknown'}", which nobody has looked at`)
    if (entry.hasInstallScript && !Object.hasOwn(INSTALL_SCRIPTS, name))
      findings.push(
        'has an install script, which never runs here: see that it works without, then list it in scripts/audit.mjs',
      )
    return findings.map((finding) => `${name}@${entry.version} ${finding}`)
  })
}

/** SPDX: all of `A AND B`, one of `A OR B`. */
function isAllowed(licence = '') {
  const text = licence.replace(/^\((.*)\)$/, '$1')
  if (text.includes(' AND ')) return text.split(' AND ').every((part) => isAllowed(part))
  return text.split(' OR ').some((part) => LICENCES.has(part))
}

/** Known advisories by severity, or why they are not known. */
function advisories() {
  const { stdout } = spawnSync('npm', ['audit', '--json'], { cwd: at('.'), encoding: 'utf8', timeout: 120_000 })
  try {
    const { error, message, vulnerabilities } = JSON.parse(stdout)
    if (!vulnerabilities) return { unknown: message ?? error?.summary ?? 'the registry has no answer to npm audit' }
    return {
      found: Object.values(vulnerabilities).map(
        ({ name, severity, range }) => `${name} ${range}: an advisory of severity ${severity}`,
      ),
    }
  } catch {
    return { unknown: 'no registry answered' }
  }
}

function main() {
  const lock = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'))
  const findings = lockFindings(lock)
  const known = advisories()
  for (const line of [...findings, ...(known.found ?? [])]) console.log(`x ${line}`)
  console.log(`${Object.keys(lock.packages).length - 1} packages: ${findings.length} findings in the lock file`)
  for (const [name, why] of Object.entries(INSTALL_SCRIPTS))
    console.log(`  ${name} has an install script, which is off: it ${why}`)
  console.log(known.found ? `${known.found.length} known advisories` : `Advisories are not known: ${known.unknown}`)
  return findings.length + (known.found?.length ?? 0) > 0 ? 1 : 0
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = main()
