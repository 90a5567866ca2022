/**
 * @file Where cold rows could live, each in a process of its own: sorted runs (src/weights/tier), lmdb, classic-level, rocksdb-native.
 * `node --import jiti/register bench/tier-stores.ts [ROWS] [SECONDS]` installs the three into a temporary folder and prints a table; docs/internals/tiers.md has one.
 *
 * What a tier does all the time is measured: groups of rows that fell out of memory are written, rows that a batch misses are read, both
 * at random places. Files are taken out of the page cache before the reads begin; how much a store then brings into it is its memory.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGES = { lmdb: 'lmdb@3.5.6', level: 'classic-level@3.0.0', rocksdb: 'rocksdb-native@3.18.1' } as const
const STORES = ['runs', ...Object.keys(PACKAGES)]
const [rows, seconds] = [Number(process.argv[2] ?? 2_000_000), Number(process.argv[3] ?? 8)]
const CHILD = fileURLToPath(new URL('tier-store-child.ts', import.meta.url))

export interface StoreFigures {
  readonly buildSeconds: number
  readonly readsPerSecond: number
  readonly writesPerSecond: number
  /** Bytes that the disk read a byte of row read, and wrote a byte of row written. */
  readonly readAmplification: number
  readonly writeAmplification: number
  readonly diskBytesPerRow: number
  readonly rssMegabytes: number
  readonly cachedMegabytes: number
}

const root = mkdtempSync(join(tmpdir(), 'tier-stores-'))
try {
  execFileSync('npm', ['init', '-y'], { cwd: root, stdio: 'ignore' })
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...Object.values(PACKAGES)], {
    cwd: root,
    stdio: 'inherit',
  })
  console.log(
    `${rows} rows of 108 bytes by random 64-bit signs; ${seconds} s of groups: 1,024 reads, 1,024 writes, at random\n`,
  )
  console.log(
    '| | build s | reads/s | writes/s | read amplification | write amplification | disk bytes/row | RSS MB | page cache MB | after kill -9 |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|---|')
  for (const store of STORES) {
    const figures = await measured(store)
    const killed = await killedAndOpened(store)
    const cells = [
      figures.buildSeconds.toFixed(0),
      figures.readsPerSecond.toFixed(0),
      figures.writesPerSecond.toFixed(0),
    ]
    const ratios = [figures.readAmplification, figures.writeAmplification].map((ratio) => ratio.toFixed(1))
    const sizes = [figures.diskBytesPerRow, figures.rssMegabytes, figures.cachedMegabytes].map((size) =>
      size.toFixed(0),
    )
    console.log(`| ${[store, ...cells, ...ratios, ...sizes, killed].join(' | ')} |`)
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}

/** Lines that a child prints; ended by `until`. */
async function run(args: readonly string[], until?: (line: string) => boolean): Promise<string[]> {
  const child = spawn(process.execPath, ['--import', 'jiti/register', CHILD, root, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop()!
    for (const line of parts) {
      lines.push(line)
      if (until?.(line)) child.kill('SIGKILL')
    }
  })
  await new Promise((resolve) => child.on('close', resolve))
  return lines
}

async function measured(store: string): Promise<StoreFigures> {
  const buildSeconds = Number((await run([store, 'build', String(rows)])).at(-1))
  const figures = JSON.parse((await run([store, 'mixed', String(rows), String(seconds)])).at(-1)!)
  return { buildSeconds, ...figures }
}

/** Groups are acknowledged as synced; after a kill all of them must be there. */
async function killedAndOpened(store: string): Promise<string> {
  const lines = await run([store, 'acknowledge', String(rows)], (line) => Number(line) >= 40)
  const acknowledged = Number(lines.at(-1))
  const [answer] = await run([store, 'check', String(rows), String(acknowledged)])
  return answer ?? 'did not open'
}
