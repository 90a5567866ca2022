/** @file examples/movie_recommand: the commands of its README, one after the other, as a user types them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../ports.testing.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const EXAMPLE = join(ROOT, 'examples', 'movie_recommand')
const PATH = [join(ROOT, 'bin', 'path'), process.env['PATH']].join(delimiter)

let folder: string | undefined
const started: ChildProcess[] = []
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  if (folder) await rm(folder, { recursive: true, force: true })
})

/** Resolves to what it printed: at its end, or as soon as it has printed `until`. */
function command(line: string, cwd: string, until?: string): Promise<string> {
  const child = spawn('/bin/sh', ['-c', `exec ${line}`], { cwd, env: { ...process.env, PATH } })
  started.push(child)
  return new Promise((resolve, reject) => {
    let text = ''
    const more = (piece: Buffer) => {
      text += piece
      if (until !== undefined && text.includes(until)) resolve(text)
    }
    child.stdout.on('data', more)
    child.stderr.on('data', more)
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`${line}: ${code}\n${text}`))))
  })
}

test('recalls, ranks and serves films by the commands of its README', { timeout: 300_000 }, async () => {
  folder = await mkdtemp(join(tmpdir(), 'oarfish-movie-'))
  for (const name of ['sample', 'recall', 'rank', 'prepare.mjs', 'recommend.mjs'])
    await cp(join(EXAMPLE, name), join(folder, name), { recursive: true })
  const readme = await readFile(join(EXAMPLE, 'README.md'), 'utf8')
  const lines = /```sh\n([\s\S]*?)```/.exec(readme)![1]!.trim().split('\n')
  const port = await freePort()
  const said: Record<string, string> = {}
  for (const line of lines) {
    const own = line.replace('8080', String(port))
    said[line] = await command(own, folder, line.startsWith('oarfish serve') ? 'Serving' : undefined)
  }

  // Far more than the 50 of 240 that chance would find.
  const recall = Number(/recall@50: ([\d.]+)/.exec(said['oarfish train -m recall/config.yaml']!)![1])
  expect(recall).toBeGreaterThan(0.35)
  const best = said[lines.at(-1)!]!.trim().split('\n')
  expect(best).toHaveLength(10)
  const scores = best.map((line) => Number(line.split(/\s+/)[0]))
  expect(scores).toEqual([...scores].sort((a, b) => b - a))
  const { history } = JSON.parse(await readFile(join(folder, 'prepared', 'users.json'), 'utf8'))['7']
  for (const line of best) expect(history).not.toContain(line.trim().split(/\s+/)[1])
})
