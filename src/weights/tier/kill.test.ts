/** @file A process that writes cold rows is killed at any moment: whatever it had acknowledged is there, and nothing is half read. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtFile } from '../../base/util/index.ts'
import { ColdStore } from './index.ts'

/** More kills than the few that every run of the tests makes: `TIER_KILLS=200 npx vitest run src/weights/tier/kill.test.ts`. */
const KILLS = Number(process.env['TIER_KILLS'] ?? 4)
const STORE = { job: 'a job', table: 't', layout: 'l', rowBytes: 16, flushRows: 2000, filterBytes: 1 << 20, keep: true }

const PROGRAM = `
import { ColdStore } from '${builtFile('weights/tier/index').href}'
const store = new ColdStore({ ...${JSON.stringify(STORE)}, folder: process.argv[1] })
for (let n = Number(process.argv[2]); ; n++) {
  const signs = BigUint64Array.from({ length: 1000 }, (_, i) => BigInt((n * 500 + i) % 20000) * 0x9e3779b97f4a7c15n % 2n ** 64n)
  store.put(signs, rows(signs, n))
  process.stdout.write(n + '\\n')
}
function rows(signs, n) {
  return new Uint8Array(BigUint64Array.from([...signs].flatMap((sign) => [sign, BigInt(n)])).buffer)
}`

const signOf = (i: number) => (BigInt(i) * 0x9e3779b97f4a7c15n) % 2n ** 64n

/** Writes from group `first` on until it is killed, some groups after its first; returns the last that it acknowledged. */
function writeUntilKilled(folder: string, first: number, groups: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, folder, String(first)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more
      // A little later, so that it is in the middle of something.
      if (text.split('\n').length > groups) setTimeout(() => child.kill('SIGKILL'), groups % 7)
    })
    child.on('error', reject)
    child.on('close', () => resolve(Number(text.slice(0, text.lastIndexOf('\n')).split('\n').at(-1))))
  })
}

test('what was acknowledged before a kill is there after it', { timeout: 120_000 + 10_000 * KILLS }, async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'tier-kill-')), 'rows')
  const newest = new Map<number, number>()
  let next = 0
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const last = await writeUntilKilled(folder, next, 3 + ((kill * 13) % 40))
      for (let n = next; n <= last; n++) for (let i = 0; i < 1000; i++) newest.set((n * 500 + i) % 20_000, n)
      const store = new ColdStore({ ...STORE, folder })
      const signs = [...newest.keys()]
      const found = new Map<bigint, bigint>()
      store.find(BigUint64Array.from(signs, signOf), (some, rows) => {
        const words = new BigUint64Array(rows.slice().buffer)
        for (const [i, sign] of some.entries()) if (words[2 * i] === sign) found.set(sign, words[2 * i + 1]!)
      })
      // One group more may have been written than was acknowledged.
      const versionOf = (i: number) => Number(found.get(signOf(i)) ?? -1n)
      expect(signs.filter((i) => versionOf(i) !== newest.get(i) && versionOf(i) !== last + 1)).toEqual([])
      for (const i of signs) newest.set(i, versionOf(i))
      await store.close()
      next = last + 2
    }
  } finally {
    rmSync(join(folder, '..'), { recursive: true, force: true })
  }
})

const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot)(
  'a full disk is said, and what was written before stays (needs root: mounts a small disk)',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tier-full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=300k', 'tmpfs', folder])
    try {
      const store = new ColdStore({ ...STORE, folder: join(folder, 'rows') })
      let written = 0
      const signs = (n: number) => BigUint64Array.from({ length: 1000 }, (_, i) => signOf(n * 1000 + i))
      const fill = () => {
        for (; ; written++) store.put(signs(written), new Uint8Array(16_000))
      }
      expect(fill).toThrow(expect.objectContaining({ code: 'TIER_FULL' }))
      expect(written).toBeGreaterThan(2)
      for (let n = 0; n < written; n++) expect(store.find(signs(n), () => {})).toBe(1000)
      await store.close()
      const again = new ColdStore({ ...STORE, folder: join(folder, 'rows') })
      expect(again.entries).toBe(1000 * written)
      await again.close()
    } finally {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
