/** @file An SSH server and client for tests. Installs them by apt where they are missing and it may; otherwise says on stderr what to install and exits 1. */
import { installed } from './apt.mjs'

const missing = installed({ '/usr/sbin/sshd': 'openssh-server', ssh: 'openssh-client', tar: 'tar' })
if (missing.length > 0) {
  console.error(`Tests over ssh lack something here: install ${missing.join(' and ')} (Debian: apt install).`)
  process.exit(1)
}
