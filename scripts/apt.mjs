/** @file Programs that tests need and Debian has: which are missing, and installing them where that is possible. */
import { spawnSync } from 'node:child_process'

/** Of a table from command to package, the packages whose command is not there. */
export function lacking(packages) {
  const has = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
  return Object.keys(packages)
    .filter((command) => !has(command))
    .map((command) => packages[command])
}

/** Installs what is missing, as root on Linux; returns what is missing still. */
export function installed(packages) {
  const missing = lacking(packages)
  if (missing.length === 0 || process.platform !== 'linux' || process.getuid() !== 0) return missing
  const options = { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  // One apt at a time: several test files may ask for the same.
  const apt = (...words) => spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', '-q', ...words], options)
  if (apt('install', '-y', ...missing).status !== 0) {
    apt('update')
    apt('install', '-y', ...missing)
  }
  return lacking(packages)
}
