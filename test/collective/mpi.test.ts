/** @file MPI through the libraries of Debian, started by their own mpirun: the contract, and what happens when ranks fail. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { testGroup } from '../contracts/group.ts'
import { expectWithin } from '../within.testing.ts'
import { mpiTools, STARTERS, startMpi } from './mpi.testing.ts'
import { RANK_PROGRAM, startProcess } from './ranks.testing.ts'

const missing = mpiTools()

describe.skipIf(missing)(`mpi${missing ? ` (skipped: ${missing})` : ''}`, () => {
  for (const starter of STARTERS) {
    const { name, description, works } = starter
    testGroup({
      name,
      works,
      run: async (size, work) => [await startMpi(starter, size, work).ended],
      description,
    })

    describe(`failures under ${name}`, () => {
      test('a rank killed inside a call ends all within 5 seconds, and mpirun says so', async () => {
        const job = startMpi(starter, 3, 'forever')
        const { running } = await job.until(({ rank, running }) => rank === 1 && running !== undefined)
        const killed = performance.now()
        process.kill(running!, 'SIGKILL')
        const { code, text } = await job.ended
        await expectWithin(performance.now() - killed, 5000)
        expect(code).not.toBe(0)
        // MPICH's mpirun kills the others and then names any of the killed, not always the first.
        expect(text).toMatch(name === 'MPICH' ? /PID \d+ RUNNING AT/ : /process rank 1 with PID/)
      })

      test('a rank that stops for a reason of its own says it, and all others end', async () => {
        const { code, text, ms } = await startMpi(starter, 2, 'fails').ended
        expect(code).not.toBe(0)
        expect(text).toContain('rank 1 stopped: the data of this rank is broken')
        await expectWithin(ms, 15_000)
      })

      test('a process that ends while one of its threads waits in a call takes the others with it', async () => {
        const { code, ms } = await startMpi(starter, 2, 'leaves').ended
        expect(code).not.toBe(0)
        await expectWithin(ms, 15_000)
      })

      test('the library of another MPI sees itself alone, which is said', async () => {
        const other = name === 'MPICH' ? 'libmpi.so.40' : 'libmpich.so.12'
        const { lines } = await startMpi(starter, 2, 'cases', { OARFISH_MPI_LIBRARY: other }).ended
        expect(lines[0]).toMatchObject({
          code: 'COLLECTIVE_NO_MPI',
          failure: expect.stringMatching(/mpirun started 2 processes, but libmpi.* sees 1/),
        })
      })
    })
  }

  test('UCX leaves the heap of Node alone, unless the user wants its hooks', async () => {
    const [mpich] = STARTERS.filter(({ name }) => name === 'MPICH')
    const hooks = async (env?: NodeJS.ProcessEnv) =>
      (await startMpi(mpich!, 2, 'environment', env).ended).lines.flatMap(({ hooks }) => hooks ?? [])
    expect(await hooks()).toEqual(['no', 'no'])
    // With its hooks UCX may crash a rank before that rank has said a word: one that did is enough.
    expect(new Set(await hooks({ UCX_MEM_EVENTS: 'yes' }))).toEqual(new Set(['yes']))
  })

  /** The only rank of two that is started: it does not come as far as to look for the other. */
  const withLibrary = async (library: string) => {
    const env = { ...process.env, PMI_SIZE: '2', PMI_RANK: '0', OARFISH_MPI_LIBRARY: library }
    return await startProcess([process.execPath, RANK_PROGRAM, '{"work":"cases"}'], env).ended
  }

  test('a library that is not there is an error with the way to install one', async () => {
    const { lines } = await withLibrary('/nowhere/libmpi.so')
    expect(lines[0]).toMatchObject({
      code: 'COLLECTIVE_NO_MPI',
      failure: expect.stringContaining('no MPI library was found: /nowhere/libmpi.so'),
      hint: expect.stringContaining('OARFISH_MPI_LIBRARY'),
    })
  })

  test('a library that is none is refused', async () => {
    const { lines } = await withLibrary('libm.so.6')
    expect(lines[0]).toMatchObject({
      code: 'COLLECTIVE_MPI_ABI',
      failure: 'libm.so.6 is no MPI library: Oarfish knows the interfaces of Open MPI and of MPICH',
    })
  })

  test.skipIf(spawnSync('cc', ['--version']).status !== 0)('a third MPI is refused by its name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'oarfish-mpi-'))
    try {
      const [source, library] = [join(folder, 'acme.c'), join(folder, 'libacme.so')]
      writeFileSync(
        source,
        '#include <string.h>\nint MPI_Get_library_version(char *text, int *length) { strcpy(text, "Acme MPI 1.0"); *length = 12; return 0; }\n',
      )
      execFileSync('cc', ['-shared', '-fPIC', '-o', library, source])
      const { lines } = await withLibrary(library)
      expect(lines[0]).toMatchObject({
        code: 'COLLECTIVE_MPI_ABI',
        failure: expect.stringContaining('says it is "Acme MPI 1.0"'),
      })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
