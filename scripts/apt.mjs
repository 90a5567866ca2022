/** @file Programs that tests need and Debian has: which are missing, and installing them where that is possible. */
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const LOCK = join(tmpdir(), 'oarfish-apt.lock')

/** Of a table from command or file to package, the packages whose command or file is not there. */
export function lacking(packages) {
  const has = (command) => spawnSync('sh', ['-c', `command -v ${command} || test -e ${command}`]).status === 0
  return Object.keys(packages)
    .filter((command) => !has(command))
    .map((command) => packages[command])
}

/** Installs what is missing, as root on Linux; returns what is missing still. */
export function installed(packages) {
  if (process.platform !== 'linux' || process.getuid() !== 0) return lacking(packages)
  // What another test file is installing may be there in part.
  spawnSync('flock', [LOCK, 'true'])
  const missing = lacking(packages)
  if (missing.length === 0) return missing
  const options = { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  // One at a time: several test files may ask for the same. What others hold is waited for as well.
  const install = `apt-get -o DPkg::Lock::Timeout=120 -q install -y ${missing.join(' ')}`
  spawnSync('flock', [LOCK, 'sh', '-c', `${install} || { apt-get -q update; ${install}; }`], options)
  return lacking(packages)
}
