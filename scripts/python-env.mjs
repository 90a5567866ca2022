/**
 * @file A Python with onnx and onnxruntime from PyPI in .cache/python, made once and reused. Prints the interpreter's path;
 * where it cannot be had, says on stderr what to install and exits 1.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGES = ['onnx', 'onnxruntime', 'numpy']

const environment = join(dirname(fileURLToPath(import.meta.url)), '..', '.cache', 'python')
const python = join(environment, ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']))
// Written last, so that an interrupted installation is done again.
const stamp = join(environment, 'installed')
const isMade = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === PACKAGES.join(' ')

// Several test files may ask at once: one makes it and the others wait, where there is a flock.
if (!isMade() && process.argv[2] !== '--locked') {
  mkdirSync(dirname(environment), { recursive: true })
  const words = [`${environment}.lock`, process.execPath, fileURLToPath(import.meta.url), '--locked']
  const { error, status } = spawnSync('flock', words, { stdio: 'inherit' })
  if (!error) process.exit(status ?? 1)
}
if (!isMade()) {
  rmSync(environment, { recursive: true, force: true })
  run(
    'python3',
    ['-m', 'venv', environment],
    'install Python 3 with its venv module (Debian: apt install python3-venv)',
  )
  run(
    python,
    [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--retries',
      '1',
      '--timeout',
      '15',
      ...PACKAGES,
    ],
    `let pip reach PyPI, which has ${PACKAGES.join(', ')}`,
  )
  writeFileSync(stamp, PACKAGES.join(' '))
}
console.log(python)

function run(command, args, hint) {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0) return
  console.error(
    `${command} ${args.join(' ')} failed: ${error?.message ?? stderr.trim().split('\n').at(-1)}\nTo have it, ${hint}.`,
  )
  process.exit(1)
}
