/** @file Drafts through the TypeScript compiler, as a user's project has it. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

const OPTIONS = {
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
  module: 'nodenext',
  moduleResolution: 'nodenext',
  allowImportingTsExtensions: true,
  verbatimModuleSyntax: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitOverride: true,
  skipLibCheck: true,
  noEmit: true,
  paths: { oarfish: [join(root, 'src/index.ts')], 'oarfish/*': [join(root, 'src/*.ts')] },
}

/** What the compiler says of the files of a folder, a line each. */
export async function typeErrors(folder: string): Promise<readonly string[]> {
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: OPTIONS, include: ['*.ts', join(root, 'types')] }),
  )
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder],
      { maxBuffer: 1e8 },
      (_error, out) => resolve(out.split('\n').filter((line) => /error TS/.test(line))),
    )
  })
}
