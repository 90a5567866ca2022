/**
 * @file `npm run bench -- --only library [--base REF]`: whether the library's train() keeps up with `oarfish train`, and what importing the package
 * costs beside another commit. Fresh processes in turn, so that a slow spell hits all alike; ends with 1 on a loss beyond noise.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtCommit } from './built-commit.ts'
import { criteoLike } from './dataset.ts'
import { compare } from './noise.ts'
import { at, jsonLines, median, scratch } from './tools.ts'

export interface LibraryOptions {
  readonly rows: number
  readonly rounds: number
  /** A commit to compare the import with. */
  readonly base: string | undefined
}

const LOSS = 0.97
const IMPORTS_A_ROUND = 5

/** Prints every figure; false on a loss. */
export async function measureLibrary({ rows, rounds, base }: LibraryOptions): Promise<boolean> {
  const data = await criteoLike(rows, 'slot', 1)
  const other = base === undefined ? undefined : builtCommit(base)
  const [program, importer] = [scratch('library-train.mjs'), scratch('library-import.mjs')]
  writeFileSync(program, PROGRAM)
  writeFileSync(importer, IMPORTER)
  const rates = { library: [] as number[], command: [] as number[] }
  const imports = { here: [] as number[], there: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    // In turn, and who is first changes.
    const order = round % 2 === 0 ? (['library', 'command'] as const) : (['command', 'library'] as const)
    for (const who of order) rates[who].push(await (who === 'library' ? byProgram(program, data) : byCommand(data)))
    for (let i = 0; i < IMPORTS_A_ROUND; i++) {
      imports.here.push(await importMs(importer, at('.')))
      if (other) imports.there.push(await importMs(importer, other.folder))
    }
  }
  const train = verdict('train(), samples a second, beside oarfish train', rates.library, rates.command)
  console.log(`import 'oarfish': ${median(imports.here).toFixed(0)} ms of the processor`)
  if (!other) return train
  const speeds = (times: readonly number[]) => times.map((ms) => 1 / ms)
  const started = verdict(
    `import 'oarfish', imports a ms, beside ${other.commit}`,
    speeds(imports.here),
    speeds(imports.there),
  )
  return train && started
}

function verdict(what: string, here: readonly number[], there: readonly number[]): boolean {
  const { ratio, low, high } = compare(here, there)
  const shown = (values: readonly number[]) => Number(median(values).toPrecision(4)).toLocaleString('en-US')
  const isLoss = high < LOSS || (ratio < LOSS && high < 1)
  console.log(
    `${what}: ${shown(here)} and ${shown(there)}, ratio ${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})${isLoss ? ': a loss' : ''}`,
  )
  return !isLoss
}

const settings = (data: string) => ({
  train_data_dir: join(data, 'train'),
  test_data_dir: join(data, 'test'),
  train_batch_size: 512,
  epochs: 1,
  thread_num: 2,
  print_interval: 1000,
  model_save_path: '',
})
const CONFIG = at('models', 'rank', 'dnn', 'config.yaml')

async function byProgram(program: string, data: string): Promise<number> {
  const [done] = await jsonLines(process.execPath, [
    program,
    at('dist', 'index.js'),
    CONFIG,
    JSON.stringify(settings(data)),
  ])
  return Number(done!['samplesPerSecond'])
}

async function byCommand(data: string): Promise<number> {
  const overrides = Object.entries(settings(data)).map(([key, value]) => `runner.${key}=${value}`)
  const events = await jsonLines(process.execPath, [
    at('bin', 'oarfish.js'),
    'train',
    '-m',
    CONFIG,
    '--json',
    '-o',
    ...overrides,
  ])
  return Number(events.at(-1)!['samplesPerSecond'])
}

async function importMs(importer: string, folder: string): Promise<number> {
  const [{ ms }] = (await jsonLines(process.execPath, [importer, join(folder, 'dist', 'index.js')])) as [{ ms: number }]
  return ms
}

const PROGRAM = `const [, , index, config, runner] = process.argv
const { train } = await import(index)
const { samples, seconds } = await train({ config, set: { runner: JSON.parse(runner) } })
console.log(JSON.stringify({ samplesPerSecond: samples / seconds }))
`

const IMPORTER = `const before = process.cpuUsage()
await import(process.argv[2])
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify({ ms: (user + system) / 1000 }))
`
