/** @file `npm run size`: the longest source files, and the lines of src/ against a budget. Lines are never golfed to meet it: raise it with a reason. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { at, root } from './setup.mjs'

const MAX_SRC_LINES = 114_000 // the engine, readers, checkpoints, exports, serving, launchers, parameter server, ranks, Fleet, Fluid and the first trainer; jobs by MPI, Slurm, ssh and Kubernetes, and the job server; security; Python readers and the porting of PaddleRec files; init, doctor, completion, where mistakes of users are; metrics by group, features, sweeps; devices and the GPU parameter server; blocks of the zoo; cuts and recovery, rows on a disk, online training with published deltas, run folders and the dashboard, what it shows of servers that follow a trainer and of jobs that leave logs alone; dense weights between versions, and ranks that go on without a common folder; rows of bfloat16 weights, and which rows are hot; jobs over ssh and by mpirun that go on when a process, an agent or a host goes, and ranks that are frozen; rows on a disk found ahead by a thread of their own, and rows that workers keep
const LONG_FILE_LINES = 300
const SHOWN = 10

const files = ['src', 'assembly', 'models'].flatMap(sourceFiles).sort((a, b) => b.lines - a.lines)
const total = (folder) => files.filter(({ path }) => path.startsWith(folder)).reduce((sum, { lines }) => sum + lines, 0)

for (const { path, lines } of files.slice(0, SHOWN)) {
  console.log(
    `${String(lines).padStart(6)}  ${path}${lines > LONG_FILE_LINES ? `  (over ${LONG_FILE_LINES}: consider splitting it)` : ''}`,
  )
}
console.log(
  `${String(total('src')).padStart(6)}  src without tests, of a budget of ${MAX_SRC_LINES}; assembly ${total('assembly')}, models ${total('models')}`,
)
if (total('src') > MAX_SRC_LINES) {
  console.error(
    `src/ has ${total('src')} lines, over the budget of ${MAX_SRC_LINES}: simplify, or raise MAX_SRC_LINES in scripts/size.mjs with a reason.`,
  )
  process.exitCode = 1
}

function sourceFiles(folder) {
  return readdirSync(at(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(root, path), lines: readFileSync(path, 'utf8').split('\n').length - 1 }))
}
