/** @file `oarfish init [NAME]`: a project that trains at once. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { packageFile, shellWord, UserError } from '../base/util/index.ts'
import type { CliIo } from './io.ts'

export function initCommand(io: CliIo): Command {
  return new Command('init')
    .description(
      'Write a project that trains at once: config.yaml, model.ts, reader.ts, a sample, tsconfig.json, .npmrc, editor schema.',
    )
    .argument('[name]', 'the folder to make; default: the working folder')
    .action((name: string | undefined) => init(name, io))
}

async function init(name: string | undefined, io: CliIo): Promise<void> {
  const { projectFiles } = await import('./init-files.ts')
  const folder = resolve(name ?? '.')
  const files = projectFiles({
    name: packageNameOf(basename(folder)),
    packageRoot: packageFile('.'),
    schema: readFileSync(packageFile('docs/config.schema.json'), 'utf8'),
  })
  // npm init may have been there before: what it wrote stays.
  const kept = ['package.json', '.npmrc', '.gitignore', 'tsconfig.json'].filter((path) =>
    existsSync(join(folder, path)),
  )
  const wanted = Object.keys(files).filter((path) => !kept.includes(path))
  refuseToReplace(folder, wanted)
  try {
    for (const path of wanted) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), files[path]!)
    }
  } catch (error) {
    throw new UserError(`The project cannot be written: ${(error as Error).message}`, {
      code: 'CLI_OPTION',
      hint: 'Name a folder that can be written: oarfish init NAME',
      cause: error,
    })
  }
  const there = kept.length === 0 ? '' : ` (${kept.join(', ')} stayed as ${kept.length === 1 ? 'it was' : 'they were'})`
  const enter = name === undefined ? '' : `  cd ${shellWord(name)}\n`
  io.out.write(`Wrote ${wanted.filter((path) => !path.startsWith('data/')).join(', ')} and a sample in data/${there}.
To train it:
${enter}  oarfish train -m config.yaml
Then change model.ts; oarfish check -m config.yaml says what is wrong with it.
`)
}

function refuseToReplace(folder: string, wanted: readonly string[]): void {
  const there = wanted.filter((path) => existsSync(join(folder, path)))
  if (there.length === 0) return
  throw new UserError(`There is already ${there.join(', ')}; nothing was written.`, {
    code: 'CLI_OPTION',
    where: { file: folder },
    hint: 'Name a new folder: oarfish init NAME',
  })
}

/** As npm takes it. */
function packageNameOf(folder: string): string {
  return (
    folder
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'clicks'
  )
}
