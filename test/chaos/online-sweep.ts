/**
 * @file Entry of `npm run chaos -- --online [--from N --to N --every N --seed N --calls 3,17h]`: online training killed at each of its calls that change a file system, by turns before
 * the call and in its middle, a third of them a second time; each must end with the files of a run that nobody harmed.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createRng } from '../../src/base/util/index.ts'
import { describe, type Kill, killAndGoOn, layGround } from './online-kills.ts'

const { values } = parseArgs({
  options: {
    online: { type: 'boolean' },
    from: { type: 'string', default: '1' },
    to: { type: 'string' },
    every: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    calls: { type: 'string' },
    cache: { type: 'string', default: '.cache' },
  },
})

const root = mkdtempSync(join(tmpdir(), 'oarfish-online-kills-'))
mkdirSync(values.cache, { recursive: true })
try {
  process.exitCode = await sweep()
} finally {
  if (process.exitCode === 0) rmSync(root, { recursive: true, force: true })
}

async function sweep(): Promise<number> {
  const ground = await layGround(root)
  const [from, to, every] = [Number(values.from), Number(values.to ?? ground.calls.length), Number(values.every)]
  if (![from, to, every].every((number) => Number.isSafeInteger(number) && number > 0)) {
    console.error('--from, --to and --every are whole numbers from 1 on')
    return 2
  }
  console.log(`${ground.calls.length} calls, ${Object.keys(ground.files).length} files`)
  const wanted = values.calls?.split(',') ?? []
  const numbers = Array.from({ length: Math.max(0, Math.floor((to - from) / every) + 1) }, (_, i) => from + i * every)
  const first: readonly Kill[] =
    wanted.length > 0
      ? wanted.map((word) => ({ call: Number.parseInt(word, 10), isHalf: word.endsWith('h') }))
      : numbers.map((call) => ({ call, isHalf: call % 2 === 0 }))
  const rng = createRng(BigInt(values.seed))
  let failed = 0
  for (const kill of first) {
    const again = { call: 1 + rng.below(ground.calls.length), isHalf: rng.uniform() < 0.5 }
    const kills = wanted.length === 0 && rng.uniform() < 1 / 3 ? [kill, again] : [kill]
    const problems = await killAndGoOn(ground, `kill-${kill.call}`, kills)
    const text = `${kills.map(describe).join(', then ')} (${ground.calls[kill.call - 1]?.slice(root.length) ?? ''})`
    console.log(`${problems.length === 0 ? '+' : 'x'} ${text}`)
    for (const problem of problems) console.log(`    ${problem}`)
    if (problems.length > 0) failed++
  }
  console.log(`${first.length} runs were killed, ${failed} did not end as one that nobody harmed`)
  if (failed > 0) console.log(`what they left is in ${root}`)
  return failed > 0 ? 1 : 0
}
