/**
 * @file Entry of `npm run chaos`: runs plans one after the other, goes on where it was stopped, prints the command that repeats each run that failed, and a table.
 * Results are kept in .cache/chaos.json, what a failed run said below .cache/chaos/.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { networkTools } from '../netns/network.testing.ts'
import { makeCountingFolder } from './counting.ts'
import { ELASTIC_MODES, elasticPlanOf } from './elastic-plan.ts'
import { EVERYTHING, FAULT_KINDS, MODES, type Plan, planOf, planText, type Wanted } from './plan.ts'
import { chaosTable } from './report.ts'
import { type Ground, type RunResult, runPlan } from './run.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    case: { type: 'string' },
    elastic: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    restart: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '100000' },
    cache: { type: 'string', default: '.cache' },
  },
})

const STATE = join(values.cache, 'chaos.json')
const KEPT = join(values.cache, 'chaos')

type State = Record<string, RunResult>
const keyOf = ({ seed, number }: { seed: number; number: number }) => `${seed} ${number}${suffix}`
const selection = [
  ...(values.elastic ? ['--elastic'] : []),
  ...(values.only === '' ? [] : ['--only', values.only]),
].join(' ')
/** As results were kept before there were elastic jobs. */
const suffix = values.elastic ? ` ${selection}` : values.only === '' ? '' : ` ${values.only}`

async function main(): Promise<number> {
  const wanted = wantedOf(values.only)
  if (typeof wanted === 'string') return usage(wanted)
  const [seed, runs] = [Number(values.seed), Number(values.runs)]
  const numbers = values.case === undefined ? Array.from({ length: runs }, (_, i) => i) : [Number(values.case)]
  const until = performance.now() + 60_000 * Number(values.minutes)
  if (!(until > 0)) return usage('--minutes is a number: no run is begun after them, the same command goes on')
  if (![seed, runs, ...numbers].every((number) => Number.isSafeInteger(number) && number >= 0))
    return usage('--runs, --seed and --case are whole numbers from 0 on')
  const plans = numbers.map((number) =>
    values.elastic ? elasticPlanOf(seed, number, wanted.modes) : planOf(seed, number, wanted),
  )
  const state = readState()
  if (values.restart || values.case !== undefined) for (const plan of plans) delete state[keyOf(plan)]
  const lacks = lacking()
  const root = mkdtempSync(join(tmpdir(), 'oarfish-chaos-'))
  const ground: Ground = { folder: join(root, 'job'), root, digests: new Map() }
  makeCountingFolder(ground.folder)
  try {
    for (const plan of plans)
      if (!state[keyOf(plan)] && performance.now() < until) await runOne(plan, ground, state, lacks)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
  return conclude(plans.flatMap((plan) => state[keyOf(plan)] ?? []))
}

async function runOne(plan: Plan, ground: Ground, state: State, lacks: string | undefined): Promise<void> {
  const needs = plan.hosts > 1 || plan.disk === 'small'
  if (needs && lacks !== undefined) return console.log(`- ${planText(plan)}: skipped, ${lacks}`)
  const result = await runPlan(plan, ground)
  const own = join(ground.root, `${plan.seed}-${plan.number}`)
  if (result.problems.length > 0) {
    const kept = join(KEPT, `${plan.seed}-${plan.number}`)
    rmSync(kept, { recursive: true, force: true })
    cpSync(own, kept, { recursive: true, filter: (path) => !/^(tmp|saved|disk)/.test(relative(own, path)) })
  }
  rmSync(own, { recursive: true, force: true })
  state[keyOf(plan)] = result
  mkdirSync(dirname(STATE), { recursive: true })
  writeFileSync(STATE, JSON.stringify(state))
  const { problems, struck, restarts, resumes, seconds } = result
  const how = `${struck} of ${result.planned} faults struck, ${restarts} restarts, ${resumes} by hand, ${seconds.toFixed(0)} s`
  console.log(`${problems.length === 0 ? '+' : 'x'} ${planText(plan)}: ${how}`)
  for (const problem of problems) console.log(`    ${problem}`)
  if (problems.length > 0) console.log(`    again: ${commandOf(result)}`)
}

function conclude(results: readonly RunResult[]): number {
  const failed = results.filter(({ problems }) => problems.length > 0)
  console.log(`\n${chaosTable(results)}\n`)
  for (const result of failed) console.log(`failed: ${commandOf(result)}\n    ${result.problems.join('\n    ')}`)
  return failed.length > 0 ? 1 : 0
}

const commandOf = ({ seed, number }: RunResult) =>
  `npm run chaos -- --seed ${seed} --case ${number}${selection === '' ? '' : ` ${selection}`}`

function wantedOf(only: string): Wanted | string {
  const names = only === '' ? [] : only.split(',')
  if (values.elastic) return elasticModes(names)
  const unknown = names.find((name) => ![...MODES, ...FAULT_KINDS].some((known) => known === name))
  if (unknown !== undefined) return `--only ${unknown}: not one of ${[...MODES, ...FAULT_KINDS].join(', ')}`
  const modes = MODES.filter((mode) => names.includes(mode))
  const kinds = FAULT_KINDS.filter((kind) => names.includes(kind))
  return {
    modes: modes.length > 0 ? modes : EVERYTHING.modes,
    kinds: kinds.length > 0 ? kinds : EVERYTHING.kinds,
  }
}

function elasticModes(names: readonly string[]): Wanted | string {
  const unknown = names.find((name) => !ELASTIC_MODES.some((mode) => mode === name))
  if (unknown !== undefined) return `--elastic --only ${unknown}: not one of ${ELASTIC_MODES.join(', ')}`
  const modes = ELASTIC_MODES.filter((mode) => names.includes(mode))
  return { ...EVERYTHING, modes: modes.length > 0 ? modes : ELASTIC_MODES }
}

/** Why there can be no hosts and disks of a run's own here. */
const lacking = () => (process.getuid?.() === 0 ? networkTools() : 'it needs root')

const readState = (): State => (existsSync(STATE) ? JSON.parse(readFileSync(STATE, 'utf8')) : {})

function usage(problem: string): number {
  console.error(problem)
  return 2
}

process.exitCode = await main()
