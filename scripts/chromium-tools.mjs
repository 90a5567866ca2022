/** @file Debian's chromium, for tests of the dashboard's page. Installs it by apt where it is missing and it may; says on stderr what to install and exits 1 otherwise. */
import { installed } from './apt.mjs'

const missing = installed({ chromium: 'chromium' })
if (missing.length > 0) {
  console.error(
    `Tests of the dashboard's page lack something here: install ${missing.join(' and ')} (Debian: apt install).`,
  )
  process.exit(1)
}
