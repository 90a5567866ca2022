/**
 * @file Slurm and munge for tests. Installs them by apt where they are missing and it may; prints nothing when all are there,
 * otherwise says on stderr what to install and exits 1.
 */
import { installed } from './apt.mjs'

const PACKAGES = {
  '/usr/sbin/slurmctld': 'slurmctld',
  '/usr/sbin/slurmd': 'slurmd',
  sbatch: 'slurm-client',
  '/usr/sbin/munged': 'munge',
}

const missing = installed(PACKAGES)
if (missing.length > 0) {
  console.error(`Tests of Slurm lack something here: install ${missing.join(' and ')} (Debian: apt install).`)
  process.exit(1)
}
