/**
 * @file All-reduce of 1.2 MB and 64 MB over 2 and 4 processes of this host: each MPI in C and through us, and the embedded ring.
 * What is compared takes turns, so that both see the same machine. Prints a JSON line per figure.
 */
import { spawnSync } from 'node:child_process'
import { at, freeEndpoint, type Json, jsonLines, median, scratch } from './tools.ts'

const SIZES = [
  { bytes: 1_200_000, repetitions: 200 },
  { bytes: 64_000_000, repetitions: 15 },
]
const RANKS = [2, 4]
const [rounds = '5'] = process.argv.slice(2)
const ENV = {
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
  // What src/collective/mpi/library.ts sets, for both.
  UCX_MEM_EVENTS: 'no',
  UCX_ERROR_SIGNALS: '',
}
const RANK = [process.execPath, at('bench', 'collective-rank.mjs')]

interface Form {
  readonly name: string
  readonly run: (ranks: number, bytes: number, repetitions: number) => Promise<number>
}

const forms: readonly Form[] = [
  ...mpiForms('Open MPI', 'mpicc.openmpi', ['mpirun.openmpi', '--oversubscribe']),
  ...mpiForms('MPICH', 'mpicc.mpich', ['mpirun.mpich']),
  { name: 'ring', run: (ranks, bytes, repetitions) => ring(ranks, bytes, repetitions, 'memory') },
  { name: 'ring over unix sockets', run: (ranks, bytes, repetitions) => ring(ranks, bytes, repetitions, 'sockets') },
]

for (const ranks of RANKS) {
  for (const { bytes, repetitions } of SIZES) {
    const times = new Map<string, number[]>(forms.map(({ name }) => [name, []]))
    for (let round = 0; round < Number(rounds); round++) {
      for (const { name, run } of forms) times.get(name)!.push(await run(ranks, bytes, repetitions))
    }
    for (const { name } of forms) console.log(JSON.stringify({ name, ranks, bytes, ms: median(times.get(name)!) }))
  }
}

/** The library's call in a C program, where there is a compiler, and through us. */
function mpiForms(name: string, compiler: string, mpirun: readonly string[]): readonly Form[] {
  const has = (command: string) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
  if (!has(mpirun[0]!)) {
    console.error(`- ${name} is left out: there is no ${mpirun[0]}`)
    return []
  }
  const program = scratch(`collective-${compiler}`)
  const compiled =
    has(compiler) && spawnSync(compiler, ['-O2', '-o', program, at('bench', 'collective.c')]).status === 0
  if (!compiled) console.error(`- ${name} in C is left out: ${compiler} compiles nothing here`)
  const start = async (words: readonly string[], ranks: number, bytes: number, repetitions: number) => {
    const args = [...mpirun.slice(1), '-np', String(ranks), ...words, String(bytes), String(repetitions)]
    return msOf(await jsonLines(mpirun[0]!, args, ENV))
  }
  return [
    ...(compiled ? [{ name: `${name} in C`, run: (...of: [number, number, number]) => start([program], ...of) }] : []),
    { name: `${name} through Oarfish`, run: (...of: [number, number, number]) => start(RANK, ...of) },
  ]
}

async function ring(ranks: number, bytes: number, repetitions: number, within: string): Promise<number> {
  const endpoints = await Promise.all(Array.from({ length: ranks }, freeEndpoint))
  const identity = { jobId: 'bench', token: 'bench' }
  const lines = await Promise.all(
    endpoints.map((_, rank) => {
      const plan = JSON.stringify({ kind: 'ring', within, rank, endpoints, identity })
      // Sockets take so much longer that fewer repetitions do.
      const times = within === 'memory' ? repetitions : Math.ceil(repetitions / 5)
      return jsonLines(RANK[0]!, [RANK[1]!, String(bytes), String(times), plan])
    }),
  )
  return msOf(lines.flat())
}

function msOf([line]: readonly Json[]): number {
  if (typeof line?.['ms'] !== 'number') throw new Error('a rank printed no figure')
  return line['ms']
}
