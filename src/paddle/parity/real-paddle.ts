/** @file What a real Paddle computes with PaddleRec's own files, where one can be imported. */
import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import type { LoadedConfig } from '../../base/config/index.ts'
import { packageFile, shown, UserError } from '../../base/util/index.ts'
import { findDataFiles } from '../../training/threads/index.ts'
import type { Reference } from './parity.ts'

export interface RealPaddleOptions {
  readonly config: LoadedConfig
  /** The folder with PaddleRec's static_model.py and reader. */
  readonly folder: string
  readonly paddle: string
  readonly batches: number
  readonly training: boolean
  readonly python: string
}

const MINUTES = 30

export async function runPaddle({
  config: { config },
  folder,
  paddle,
  batches,
  training,
  python,
}: RealPaddleOptions): Promise<Reference> {
  const { runner, hyper_parameters } = config
  const { train: files = [] } = await findDataFiles(config, ['train'])
  const named = await readerIn(config.path)
  const reader = join(
    folder,
    `${named
      .split('/')
      .at(-1)!
      .replace(/\.(py|ts|js)$/, '')}.py`,
  )
  for (const file of [join(folder, 'static_model.py'), reader])
    if (!(await stat(file).catch(() => undefined))) throw missing(file)
  const settings = {
    folder: resolve(folder),
    reader: resolve(reader),
    config: flat({ runner, hyper_parameters }),
    files: files.map((file) => resolve(file)),
    batch_size: runner.train_batch_size,
    batches,
    training,
    load: resolve(paddle),
  }
  return JSON.parse(await ask(python, JSON.stringify(settings))) as Reference
}

/** The reader that the yaml names: a config here knows it only where there is one in TypeScript. */
async function readerIn(path: string): Promise<string> {
  const { runner } = (parse(await readFile(path, 'utf8')) ?? {}) as { runner?: { train_reader_path?: unknown } }
  return String(runner?.train_reader_path ?? 'reader')
}

/** Keys as PaddleRec's config has them: `hyper_parameters.fc_sizes`. */
function flat(value: unknown, path = ''): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { [path]: value }
  return Object.assign({}, ...Object.entries(value).map(([key, own]) => flat(own, path ? `${path}.${key}` : key)))
}

function ask(python: string, input: string): Promise<string> {
  const script = packageFile('python/oarfish_paddle.py')
  return new Promise((done, reject) => {
    const options = { maxBuffer: 1024 * 1024 * 1024, timeout: MINUTES * 60 * 1000 } as const
    const child = execFile(python, [script], options, (error, out, err) => {
      if (!error) return done(out)
      const last = err.trim().split('\n').at(-1) ?? ''
      reject(
        new UserError(`Paddle could not compute it: ${last || error.message}`, {
          code: 'PARITY_PADDLE',
          hint: /No module named 'paddle'/.test(last)
            ? 'install it (pip install paddlepaddle) or name a Python that has it: --python /opt/venv/bin/python; or bring its numbers: --reference FILE'
            : `run it by itself to see where: PaddleRec's tools/static_trainer.py, or --reference FILE with its numbers`,
          cause: error,
        }),
      )
    })
    child.stdin?.end(input)
  })
}

function missing(file: string): UserError {
  return new UserError(`${shown(file)}: there is no such file`, {
    code: 'PARITY_PADDLE',
    hint: "--paddlerec names PaddleRec's folder of the model, with static_model.py and the reader that the config names",
  })
}
