/** @file `oarfish reader`: a reader of one's own as a pipe_command, lines on stdin and MultiSlot text on stdout. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import type { GeneratorIo } from '../data/index.ts'
import type { CliIo } from './io.ts'

interface Generator {
  init?(config: unknown): unknown
  run(io: GeneratorIo): Promise<void>
}

export function readerCommand(_: CliIo): Command {
  return new Command('reader')
    .description('Run a data generator: lines on stdin, MultiSlot text on stdout. For runner.pipe_command.')
    .argument('<file>', 'a .ts or .js module that exports a class Reader (a MultiSlotDataGenerator)')
    .argument('[yaml]', 'the configuration, given to init() of the reader; appended by pipe_command')
    .argument('[utils]', "the folder of Python's stand-ins; appended by pipe_command and not used here")
    .action(runReader)
}

async function runReader(file: string, yaml: string | undefined): Promise<void> {
  const { UserError, isUserError } = await import('../base/util/index.ts')
  const { stdinLines, writeStdout: write } = await import('../data/index.ts')
  const path = resolve(file)
  if (!existsSync(path)) {
    throw new UserError('There is no such reader.', { code: 'DATA_READER', where: { file: path } })
  }
  const reader = await load(path)
  const config =
    yaml === undefined ? undefined : (await import('../base/config/index.ts')).loadConfig({ path: yaml }).config
  await reader.init?.(config)
  let line = 0
  const lines = async function* () {
    for await (const text of stdinLines()) {
      line++
      yield text
    }
  }
  try {
    await reader.run({ lines: lines(), write })
  } catch (error) {
    if (!isUserError(error) || error.where) throw error
    const { message, code } = error
    throw new UserError(`${message} (line ${line} of the input)`, { code, where: { file: path }, cause: error })
  }
}

async function load(path: string): Promise<Generator> {
  const { UserError, importUserModule } = await import('../base/util/index.ts')
  const module = await importUserModule<Record<string, unknown>>(path)
  const found = module['Reader'] ?? module['default']
  const reader = typeof found === 'function' ? (new (found as new () => Partial<Generator>)() as Generator) : undefined
  if (typeof reader?.run === 'function') return reader
  throw new UserError('The reader does not export a class Reader that extends a data generator.', {
    code: 'DATA_READER',
    where: { file: path },
    hint: "import { MultiSlotDataGenerator } from 'oarfish'\nexport class Reader extends MultiSlotDataGenerator { *generateSample(line) { yield [['click', [0]]] } }",
  })
}
