import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { capture } from './capture.testing.ts'

test('without arguments it prints help with examples and succeeds', async () => {
  const { code, out, err } = await capture([])
  expect(code).toBe(0)
  expect(err).toBe('')
  expect(out).toContain('Usage: oarfish [options] [command]')
  expect(out).toContain('oarfish train -m models/rank/dnn/config.yaml -o runner.epochs=2')
})

test('every command of the help is found by its name alone', async () => {
  const { out } = await capture(['--help'])
  const names = [...out.matchAll(/^ {2}(?!help|oarfish)([a-z_]+) /gm)].map(([, name]) => name!)
  expect(names).toHaveLength(38)
  for (const name of names) {
    const { code, out } = await capture([name, '--help'])
    expect([name, code, out]).toEqual([name, 0, expect.stringContaining(`Usage: oarfish ${name}`)])
  }
})

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(await capture(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
})

test.each([
  [['chek'], "error: unknown command 'chek'\n(Did you mean check?)\n"],
  [['check', '--jsn', '-m', 'x'], "error: unknown option '--jsn'\n(Did you mean --json?)\n"],
  [['check'], "error: required option '-m, --config_yaml <file>' not specified\n"],
  [
    ['train', 'config.yaml'],
    "error: required option '-m, --config_yaml <file>' not specified\n(Did you mean -m config.yaml?)\n",
  ],
])('%j is refused with the nearest name and exit code 2', async (argv, err) => {
  expect(await capture(argv)).toEqual({ code: 2, out: '', err })
})

test('a file that is not there is a user error without a stack', async () => {
  const { code, out, err } = await capture(['check', '-m', 'missing/config.yaml'])
  expect(code).toBe(2)
  expect(out).toBe('')
  expect(err).toContain('missing/config.yaml')
  expect(err).not.toContain('    at ')
})

test('devices does not send its reader to itself', async () => {
  const { code, out } = await capture(['devices'])
  expect(code).toBe(0)
  expect(out).toMatch(/^use_gpu: True computes on: /m)
  expect(out).not.toContain('oarfish devices')
})
