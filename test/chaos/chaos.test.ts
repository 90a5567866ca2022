/** @file `npm run chaos` in short: plans are what their seed says, a few of them run, and the checks notice what they are for. */
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkCounts } from './check.ts'
import { makeCountingFolder } from './counting.ts'
import { ELASTIC_MODES, elasticPlanOf } from './elastic-plan.ts'
import { FAULT_KINDS, MODES, MOMENTS, type Plan, planOf, planText, SILENCE_S } from './plan.ts'
import { chaosTable } from './report.ts'
import { type Ground, type RunResult, runPlan } from './run.ts'
import { digestOf } from './saved.ts'

const plans = Array.from({ length: 400 }, (_, number) => planOf(1, number))

test('a plan is a function of seed and number', () => {
  expect(planOf(7, 3)).toEqual(planOf(7, 3))
  expect(new Set(plans.map((plan) => JSON.stringify({ ...plan, number: 0 }))).size).toBeGreaterThan(390)
})

test('plans have every fault at every mode, and every moment', () => {
  const pairs = new Set(plans.map(({ mode, faults }) => `${mode} ${faults[0]!.kind}`))
  const needed = MODES.flatMap((mode) => FAULT_KINDS.map((kind) => `${mode} ${kind}`))
  const impossible = ['one partition', 'one outage']
  expect(needed.filter((pair) => !pairs.has(pair) && !impossible.includes(pair)).length).toBeLessThan(8)
  expect(new Set(plans.flatMap(({ faults }) => faults.map(({ moment }) => moment)))).toEqual(new Set(MOMENTS))
})

test('runs that were made once, and are in the documents, mean what they meant', () => {
  const text = JSON.stringify(plans.slice(0, 200))
  expect(createHash('sha256').update(text).digest('hex').slice(0, 16)).toBe('b68231d28b487836')
})

test('plans of elastic jobs leave, join and kill in the middle of that, in every mode', () => {
  const elastic = Array.from({ length: 200 }, (_, number) => elasticPlanOf(1, number))
  expect(elasticPlanOf(7, 3)).toEqual(elasticPlanOf(7, 3))
  const faults = elastic.flatMap((plan) => plan.faults)
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(['leave', 'join', 'kill']))
  expect(faults.some(({ kind, moment }) => kind === 'kill' && moment === 'change')).toBe(true)
  expect(new Set(elastic.map(({ mode }) => mode))).toEqual(new Set(ELASTIC_MODES))
  expect(elastic.every(({ least = 0, workers }) => least >= 1 && least < workers)).toBe(true)
})

test('what a job should wait out is shorter than the silence that ends it', () => {
  const faults = plans.flatMap((plan) => plan.faults)
  const lasting = (kinds: readonly string[]) =>
    faults.filter(({ kind }) => kinds.includes(kind)).map(({ forMs }) => forMs)
  expect(Math.max(...lasting(['pause', 'partition']))).toBeLessThan(500 * SILENCE_S)
  expect(Math.min(...lasting(['freeze', 'outage']))).toBeGreaterThan(1000 * SILENCE_S)
})

test('a part of the modes and faults can be asked for', () => {
  const some = Array.from({ length: 20 }, (_, number) => planOf(1, number, { modes: ['sync'], kinds: ['freeze'] }))
  expect(new Set(some.map(({ mode, faults }) => `${mode} ${faults[0]!.kind}`))).toEqual(new Set(['sync freeze']))
  expect(planText(some[0]!)).toMatch(/^seed 1 case 0: sync .*freeze of (worker|server) \d at /)
})

test('the table has a row for each fault and mode, and percentiles of recoveries', () => {
  const result: RunResult = {
    ...{ seed: 1, number: 0, mode: 'sync', fault: 'kill', problems: [], struck: 1, planned: 1 },
    ...{ restarts: 1, resumes: 0, recoveryMs: [1000, 3000, 2000], seconds: 1 },
  }
  const table = chaosTable([result, { ...result, fault: 'freeze', problems: ['it hung'], recoveryMs: [] }])
  expect(table).toContain('| kill | 1 | 1 | 1 | 0 | 1 | 0 | 2.0 s | 3.0 s |')
  expect(table).toContain('| freeze | 1 | 1 | 0 | 1 | 1 | 0 | - | - |')
  expect(table).toContain('| all | 2 | 2 | 1 | 1 | 2 | 0 | 2.0 s | 3.0 s |')
})

describe('on real processes', () => {
  let ground: Ground
  beforeAll(() => {
    const root = mkdtempSync(join(tmpdir(), 'oarfish-chaos-'))
    ground = { folder: join(root, 'job'), root, digests: new Map() }
    makeCountingFolder(ground.folder)
  })
  afterAll(() => rmSync(ground.root, { recursive: true, force: true }))

  const size = { seed: 0, threads: 1, interval: 20, hosts: 1, disk: 'plain' } as const
  const fault = { epoch: 0, batch: 60, afterMs: 50, forMs: 800 } as const
  const RUNS: readonly Plan[] = [
    {
      ...{ ...size, number: 3, mode: 'async', servers: 1, workers: 3, least: 2 },
      faults: [
        { ...fault, kind: 'leave', moment: 'training', victims: ['worker 1'], batch: 8 },
        { ...fault, kind: 'kill', moment: 'recovery', victims: ['worker 0'], afterMs: 400 },
      ],
    },
    {
      ...{ ...size, number: 0, mode: 'sync', servers: 1, workers: 2 },
      faults: [
        { ...fault, kind: 'kill', moment: 'training', victims: ['server 0'] },
        { ...fault, kind: 'kill', moment: 'recovery', victims: ['worker 1'], afterMs: 400 },
      ],
    },
    {
      ...{ ...size, number: 1, mode: 'async', servers: 1, workers: 2 },
      faults: [{ ...fault, kind: 'kill_launcher', moment: 'training', victims: ['launcher'] }],
    },
    {
      ...{ ...size, number: 2, mode: 'ring', servers: 0, workers: 2 },
      faults: [{ ...fault, kind: 'pause', moment: 'training', victims: ['worker 1'] }],
    },
  ]

  test.each(RUNS.map((plan) => [planText(plan), plan] as const))('%s', { timeout: 600_000 }, async (_, plan) => {
    const result = await runPlan(plan, ground)
    expect(result.problems).toEqual([])
    expect(result.struck).toBe(plan.faults.length)
  })

  test('a sample that was trained once too often is noticed, and so is another bit', () => {
    const saves = join(ground.root, 'undisturbed-ring-0-2-1', 'saved')
    expect(checkCounts(saves)).toEqual([])
    const altered = join(ground.root, 'altered')
    cpSync(saves, altered, { recursive: true })
    const last = join(altered, '1')
    const { tables } = JSON.parse(readFileSync(join(last, 'manifest.json'), 'utf8'))
    const count = tables.find(({ name }: { name: string }) => name === 'count')
    const file = join(last, count.parts[0].values)
    const rows = readFileSync(file)
    rows.writeFloatLE(rows.readFloatLE(count.rowBytes) - 0.5, count.rowBytes)
    writeFileSync(file, rows)
    expect(checkCounts(altered)).toEqual([
      expect.stringMatching(/^1 samples were not trained 2 times: sample \d+ 3 times$/),
    ])
    expect(digestOf(last)).not.toBe(digestOf(join(saves, '1')))
  })
})
