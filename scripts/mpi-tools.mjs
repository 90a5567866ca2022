/**
 * @file Open MPI, MPICH and an SSH server for tests. Installs them by apt where they are missing and it may; prints nothing when all are there,
 * otherwise says on stderr what to install and exits 1.
 */
import { spawnSync } from 'node:child_process'

// sshd is how mpirun reaches another host.
const PACKAGES = {
  'mpirun.openmpi': 'openmpi-bin',
  'mpirun.mpich': 'mpich',
  '/usr/sbin/sshd': 'openssh-server',
  ssh: 'openssh-client',
}

if (lacking().length > 0 && process.platform === 'linux' && process.getuid() === 0) {
  const options = { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  // One apt at a time: several test files may ask for the same.
  const apt = (...words) => spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', '-q', ...words], options)
  if (apt('install', '-y', ...lacking()).status !== 0) {
    apt('update')
    apt('install', '-y', ...lacking())
  }
}
if (lacking().length > 0) {
  console.error(`Tests of MPI lack something here: install ${lacking().join(' and ')} (Debian: apt install).`)
  process.exit(1)
}

function lacking() {
  const has = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
  return Object.keys(PACKAGES)
    .filter((command) => !has(command))
    .map((command) => PACKAGES[command])
}
