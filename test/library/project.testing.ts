/** @file A user's project: the package in node_modules as npm would put it there, without what only this repository has. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMPILER_MS = 200_000

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'esnext.disposable'],
    types: ['node'],
  },
}

/** With the package, what it depends on, and @types/node; nothing else is found from there. */
export async function userProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'oarfish-user-'))
  const modules = join(folder, 'node_modules')
  const { files } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const shipped = (files as string[]).filter((path) => !/[!*]/.test(path))
  await mkdir(join(modules, 'oarfish'), { recursive: true })
  for (const path of ['package.json', ...shipped])
    await cp(join(ROOT, path), join(modules, 'oarfish', path), { recursive: true })
  for (const path of await installedPaths()) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await symlink(join(ROOT, path), join(folder, path))
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG))
  return folder
}

/** What `npm install oarfish @types/node` puts into node_modules/, by the lock file. */
async function installedPaths(): Promise<readonly string[]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
  return Object.entries<{ readonly dev?: boolean }>(packages)
    .filter(([path, { dev }]) => !dev || /\/(@types\/node|undici-types)$/.test(path))
    .map(([path]) => path)
    .filter((path) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && existsSync(join(ROOT, path)))
}

/** Runs a script of Node there; resolves to what it printed, and to its exit code. */
export function runNode(args: readonly string[], cwd: string): Promise<{ code: number; out: string; err: string }> {
  const options = { cwd, timeout: COMPILER_MS, env: { ...process.env, HOME: cwd } }
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, out, err) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, out, err })
    })
  })
}

/** What a compiler has to say of the project: nothing, where all is right. */
export async function typeErrors(compiler: 'typescript' | 'typescript-5', folder: string): Promise<string> {
  const { out, err } = await runNode([join(ROOT, 'node_modules', compiler, 'bin/tsc'), '-p', '.'], folder)
  return out + err
}
