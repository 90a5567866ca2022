/** @file `eval "$(oarfish shell-init)"` in real shells: Python lines of PaddlePaddle's documents, typed as they stand. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'

const BIN = fileURLToPath(new URL('../bin/oarfish.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'oarfish-shell-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What shells and the shims need, and no Python. */
const tools = join(folder, 'tools')
mkdirSync(tools)
for (const name of ['sh', 'bash', 'dirname', 'basename', 'head', 'grep', 'env', 'cat', 'sed', 'uname']) {
  const found = spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim()
  if (found) symlinkSync(found, join(tools, name))
}

/** A Python that records what it was asked and has, or has not, a paddle. */
function recorder(name: string, hasPaddle: boolean): string {
  const dir = join(folder, name)
  mkdirSync(dir)
  const script = `#!/bin/sh
case "$1" in -c) exit ${hasPaddle ? 0 : 1} ;; esac
echo "real python: $*"
`
  for (const program of ['python', 'python3']) {
    writeFileSync(join(dir, program), script)
    chmodSync(join(dir, program), 0o755)
  }
  writeFileSync(join(dir, 'fleetrun'), `#!${join(dir, 'python')}\n`)
  return dir
}
const withPaddle = recorder('with-paddle', true)
const without = recorder('without-paddle', false)
/** As Debian has it. */
const three = recorder('python3-alone', false)
rmSync(join(three, 'python'))
const places = {
  none: tools,
  without: `${without}:${tools}`,
  paddle: `${withPaddle}:${tools}`,
  three: `${three}:${tools}`,
}

interface Said {
  readonly code: number | null
  readonly text: string
}

function type(line: string, place: keyof typeof places, { cwd = folder, shell = 'bash' } = {}): Said {
  const init = `eval "$(${process.execPath} ${BIN} shell-init)"`
  const { status, stdout, stderr } = spawnSync(shell, ['-c', `${init}\n${line}`], {
    cwd,
    encoding: 'utf8',
    env: { PATH: places[place], HOME: folder },
    timeout: 240_000,
  })
  return { code: status, text: stdout + stderr }
}

writeFileSync(
  join(folder, 'fluid_dist.ts'),
  'console.log("fluid_dist.ts", process.env.PADDLE_TRAINING_ROLE, ...process.argv.slice(2))\n',
)
writeFileSync(join(folder, 'dist_train.ts'), 'console.log("dist_train.ts")\n')
writeFileSync(join(folder, 'both.ts'), 'console.log("both.ts")\n')
writeFileSync(join(folder, 'both.py'), 'import paddle\n')
writeFileSync(join(folder, 'own.py'), 'print(1)\n')

describe('after eval "$(oarfish shell-init)"', () => {
  const lines: readonly (readonly [string, RegExp])[] = [
    ['python -m paddlerec.run -m config.yaml -b backend.yaml', /config\.yaml: no such file/],
    ['python -m paddlerec.run -m config.yaml', /config\.yaml: no such file/],
    ['python -m paddle.distributed.launch --help', /Usage: oarfish launch/],
    ['python -m paddle.distributed.launch_ps --help', /Usage: oarfish launch_ps/],
    ['python3 -u -m paddle.distributed.launch --help', /Usage: oarfish launch/],
    ['python paddle.py --job_dispatch_package="x" --use_gpu=0', /conf\.py/],
    ['PADDLE_TRAINING_ROLE=PSERVER python fluid_dist.py a "b c"', /fluid_dist\.ts PSERVER a b c/],
    ['python tools/static_trainer.py -m config.yaml', /config\.yaml: no such file/],
    ['fleetrun --help', /Usage: fleetrun/],
    ['python both.py', /both\.py: both\.ts is run in its place\.[\s\S]*both\.ts|both\.ts[\s\S]*is run in its place/],
    ["sh -c 'python fluid_dist.py in a script'", /fluid_dist\.ts undefined in a script/],
  ]
  test.each(lines)('%s works, with and without Python on the host', (line, says) => {
    for (const place of ['none', 'without'] as const) expect(type(line, place).text, place).toMatch(says)
  })

  test('works twice, and in zsh where there is one', () => {
    const again = `eval "$(${process.execPath} ${BIN} shell-init)"; python fluid_dist.py`
    expect(type(again, 'none').text).toMatch(/fluid_dist\.ts/)
    const zsh = spawnSync('which', ['zsh'], { encoding: 'utf8' }).stdout.trim()
    if (zsh === '') return console.log('zsh is not installed: the line was tried in bash alone')
    expect(type('python fluid_dist.py', 'none', { shell: zsh }).text).toMatch(/fluid_dist\.ts/)
  })

  test('a real paddle is left alone', () => {
    for (const line of ['python -m paddle.distributed.launch x.py', 'python both.py', 'python own.py --version'])
      expect(type(line, 'paddle').text).toBe(`real python: ${line.slice('python '.length)}\n`)
  })

  test('Python that has no paddle runs everything else', () => {
    expect(type('python own.py 1 2', 'without').text).toBe('real python: own.py 1 2\n')
    expect(type('python3 -V', 'without').text).toBe('real python: -V\n')
    expect(type('python own.py 1', 'three').text).toBe('real python: own.py 1\n')
  })

  test('without Python it says what it can do', () => {
    const { code, text } = type('python -V', 'none')
    expect(code).toBe(2)
    expect(text).toMatch(/there is no Python on this machine's PATH[\s\S]*python -m paddlerec\.run/)
  })
})

/** The seeds are not part of this repository. */
const seeds = process.env['OARFISH_SEEDS']
test.skipIf(seeds === undefined)(
  'every Python line of the seeds (OARFISH_SEEDS) is taken over, as it stands',
  async () => {
    const { readdirSync, readFileSync } = await import('node:fs')
    const text = readdirSync(seeds!)
      .filter((file) => file.endsWith('.txt'))
      .map((file) => readFileSync(join(seeds!, file), 'utf8'))
      .join('\n')
    const found = [...text.matchAll(/^\s*(python -m \S+.*|fleetrun .*)$/gm)].map(([, line]) => line!.trim())
    const variables = [...text.matchAll(/:code:`(PADDLE_TRAINING_ROLE=[^`]*python fluid_dist\.py)`/g)].map(
      ([, line]) => line!,
    )
    expect(found.length).toBeGreaterThan(5)
    expect(variables).toHaveLength(4)
    // Of a launcher only that it is ours: hosts of the documents do not exist.
    for (const line of new Set(found.map((line) => line.replace(/\.\.\.ipN:portN/g, '')))) {
      const said = type(`${line} --no-such-option-here`, 'none').text
      expect(said, line).toMatch(/oarfish|config\.yaml|fleetrun|--/)
      expect(said, line).not.toMatch(/there is no Python|command not found/)
    }
    for (const line of variables) expect(type(line, 'none').text, line).toMatch(/fluid_dist\.ts (PSERVER|TRAINER)/)
  },
)
