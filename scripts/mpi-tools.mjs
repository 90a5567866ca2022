/**
 * @file Open MPI, MPICH and an SSH server for tests. Installs them by apt where they are missing and it may; prints nothing when all are there,
 * otherwise says on stderr what to install and exits 1.
 */
import { installed } from './apt.mjs'

// sshd is how mpirun reaches another host.
const PACKAGES = {
  'mpirun.openmpi': 'openmpi-bin',
  'mpirun.mpich': 'mpich',
  '/usr/sbin/sshd': 'openssh-server',
  ssh: 'openssh-client',
}

const missing = installed(PACKAGES)
if (missing.length > 0) {
  console.error(`Tests of MPI lack something here: install ${missing.join(' and ')} (Debian: apt install).`)
  process.exit(1)
}
