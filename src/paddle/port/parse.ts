/** @file Python files as syntax trees, read by Python's own parser. The files are not run. */
import { type ExecFileException, execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { packageFile, shown, UserError } from '../../base/util/index.ts'
import type { Module, PythonFile } from './ast.ts'

const SCRIPT = 'oarfish_ast.py'

type Parsed =
  | { readonly tree: Module; readonly error?: undefined }
  | { readonly error: string; readonly line: number; readonly column: number }

/** The trees of these files, in their order. `python` is the program that parses. */
export async function parsePython(paths: readonly string[], python = 'python3'): Promise<readonly PythonFile[]> {
  const sources = await Promise.all(
    paths.map((path) => readFile(path, 'utf8').catch((e) => Promise.reject(unreadable(path, e)))),
  )
  const parsed = JSON.parse(await runParser(paths, python)) as readonly Parsed[]
  return parsed.map((own, i): PythonFile => {
    const path = paths[i]!
    if (own.error !== undefined) {
      throw new UserError(`Python cannot read it: ${own.error}`, {
        code: 'PORT_SYNTAX',
        where: { file: shown(path), line: own.line, column: own.column },
        hint: 'oarfish port reads Python 3; mend the line, or name the file that is meant',
      })
    }
    return { path, name: basename(path), lines: sources[i]!.split('\n'), tree: own.tree }
  })
}

function runParser(paths: readonly string[], python: string): Promise<string> {
  const script = packageFile(`python/${SCRIPT}`)
  // -I: no module of the folder, and none that PYTHONPATH names, takes the place of Python's own ast and json.
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: 256 * 1024 * 1024, timeout: 10 * 60 * 1000 } as const
    execFile(python, ['-I', script, ...paths], options, (error, out, err) => {
      if (!error) resolve(out)
      else reject(noParser(python, error, err))
    })
  })
}

function noParser(python: string, error: ExecFileException, output: string): UserError {
  const missing = error.code === 'ENOENT'
  const message = missing
    ? `there is no ${python} on this host`
    : `${python} could not parse: ${output.trim() || error.message}`
  return new UserError(`oarfish port: ${message}`, {
    code: 'PORT_PYTHON',
    hint: missing
      ? 'Python reads its own syntax best: install Python 3.8 or later, or name one: oarfish port --python /opt/python3/bin/python3 ...'
      : 'Python 3.8 or later is needed; name another with --python',
    cause: error,
  })
}

function unreadable(path: string, error: NodeJS.ErrnoException): UserError {
  const reason = error.code === 'ENOENT' ? 'there is no such file' : error.message
  return new UserError(`${shown(path)}: ${reason}`, {
    code: 'PORT_FILE',
    hint: 'name a net.py, or the folder it stands in: oarfish port models/rank/dnn',
    cause: error,
  })
}
