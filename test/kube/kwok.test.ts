/** @file Jobs on a real control plane with Volcano, whose nodes only pretend: gang, policies, admission, rights, states. */
import { afterAll, beforeAll, describe } from 'vitest'
import { type Bed, openBed } from './bed.testing.ts'
import { chartTests } from './chart.testing.ts'
import { commandTests } from './commands.testing.ts'
import { doctorTests } from './doctor.testing.ts'
import { jobTests } from './jobs.testing.ts'
import { manifestTests } from './manifest.testing.ts'
import { refusalTests } from './refusals.testing.ts'
import { hasTestbed } from './testbed.testing.ts'
import { troubleTests } from './troubles.testing.ts'

describe.skipIf(!hasTestbed)('kubernetes-kwok', () => {
  let bed: Bed
  beforeAll(async () => {
    bed = await openBed()
  })
  afterAll(() => bed?.close())

  describe.concurrent('at once', () => {
    jobTests(() => bed)
    troubleTests(() => bed)
    refusalTests(() => bed)
    commandTests(() => bed)
    manifestTests(() => bed)
    chartTests(() => bed)
  })
  doctorTests(() => bed)
})
