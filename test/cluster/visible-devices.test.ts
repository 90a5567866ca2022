/** @file The line of PaddleRec's document about distributed training, on a machine without GPUs. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { oarfish } from '../oarfish.testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'oarfish-devices-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('CUDA_VISIBLE_DEVICES=0,1,2,3 oarfish launch starts four processes, and says that they compute on the CPU', async () => {
  writeFileSync(
    join(folder, 'rank.mjs'),
    `import { writeFileSync } from 'node:fs'
const { PADDLE_TRAINER_ID: rank, PADDLE_TRAINERS_NUM: size } = process.env
writeFileSync(\`rank-\${rank}-of-\${size}\`, '')
`,
  )
  const { code, out } = await oarfish(['launch', 'rank.mjs'], folder, undefined, { CUDA_VISIBLE_DEVICES: '0,1,2,3' })
  expect(code).toBe(0)
  expect(out).toMatch(/No device was found: CUDA_VISIBLE_DEVICES=0,1,2,3 starts 4 processes on the CPU\. Looked for /)
  const ranks = readdirSync(folder).filter((name) => name.startsWith('rank-'))
  expect(ranks.sort()).toEqual([0, 1, 2, 3].map((rank) => `rank-${rank}-of-4`))
})
