/** @file What every executor must do: one suite, called once for each. Programs of clusters are stand-ins that write down how they were called. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { capture } from '../../src/cli/capture.testing.ts'
import {
  type ExecutorName,
  executorOf,
  type FactOptions,
  jobFolder,
  jobOfFolder,
  type Plan,
  planJob,
  printPlan,
  writeRequest,
} from '../../src/jobs/executors/index.ts'
import { superviseCloudJob } from '../../src/jobs/server/index.ts'
import type { DescribedJob } from '../../src/jobs/submit/index.ts'

export interface ExecutorForm {
  readonly name: ExecutorName
  /** What is special about it here. */
  readonly what: string
  readonly job: DescribedJob
  /** Bodies of stand-ins, by the name of the program. */
  readonly programs?: Readonly<Record<string, string>>
  readonly hostfile?: string
  /** A cluster that is no program; closed after the test. */
  readonly cluster?: (folder: string) => Promise<Cluster>
  /** What was called, of all that the stand-ins wrote down: calls that only look are left out. */
  readonly calls: (all: readonly Call[]) => readonly Call[]
  /** The text that is printed for a person. */
  readonly printed: (text: string) => void
}

export interface Cluster {
  readonly env: Readonly<Record<string, string>>
  /** What it was asked to make, in the order of asking. */
  readonly made: () => unknown
  close(): void
  /** The same, read from what was printed. */
  read(text: string): unknown
}

/** Words of a command line and what came over its input. */
export interface Call {
  readonly words: readonly string[]
  readonly input: string
}

const SECRET = 'user,secret-word'
const VERSION = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version as string

export function testExecutor(form: ExecutorForm): void {
  const { name, what, job, programs = {}, calls } = form
  describe(`the ${name} executor, ${what}`, () => {
    let root: string
    let options: FactOptions
    let cluster: Cluster | undefined
    const folder = () => join(root, 'oarfish/jobs', 'job-1')
    const quotedRoot = () => root.replaceAll("'", String.raw`'\''`)
    const target = () => ({ job: jobOfFolder(folder()), folder: folder() })

    beforeEach(async () => {
      // Words of a shell meet a space and a quote in every path.
      root = mkdtempSync(join(tmpdir(), "it's an executor-"))
      mkdirSync(jobFolder(folder()).files, { recursive: true })
      writeFileSync(join(jobFolder(folder()).files, 'model.ts'), 'export {}\n')
      writeRequest(folder(), { ...job, files: [{ name: 'model.ts', bytes: 10, sha256: '' }] })
      for (const [program, body] of Object.entries(programs)) writeProgram(program, body)
      const hostfile = form.hostfile === undefined ? undefined : join(root, 'the hosts')
      if (hostfile !== undefined) writeFileSync(hostfile, form.hostfile!)
      cluster = await form.cluster?.(root)
      const env = {
        ...{ HOME: root, OARFISH_JOB_ID: 'job-1', OARFISH_FS_UGI: SECRET, ...cluster?.env },
        PATH: [join(root, 'bin'), process.env['PATH']].join(delimiter),
      }
      options = { env, version: VERSION, hostfile, isServed: true }
    })
    afterEach(() => {
      cluster?.close()
      rmSync(root, { recursive: true, force: true })
    })

    test('plans the same from the same facts, from what it may not change, and touches nothing', async () => {
      const executor = executorOf(name)
      const facts = await executor.lookUp(target().job, options)
      const before = readdirSync(root, { recursive: true })
      const [first, second] = [executor.plan(deepFreeze(target()), facts), executor.plan(target(), facts)]
      expect(second).toEqual(first)
      expect(printPlan(second)).toBe(printPlan(first))
      expect(readdirSync(root, { recursive: true })).toEqual(before)
      form.printed(printPlan(executor.plan({ ...target(), folder: 'JOB' }, facts)).replaceAll(quotedRoot(), 'ROOT'))
    })

    test('has no secret in its plan, nor in what is printed of it', async () => {
      const plan = await planJob(name, target(), options)
      expect(JSON.stringify(plan) + printPlan(plan)).not.toContain('secret-word')
    })

    test('does what it prints', async () => {
      const plan = await planJob(name, target(), options)
      await run()
      expect(await capture(['status', 'job-1'], { env: { XDG_DATA_HOME: root } })).toEqual({
        code: 0,
        out: expect.stringContaining('succeeded'),
        err: '',
      })
      if (cluster) expect(cluster.made()).toEqual(cluster.read(printPlan(plan)))
      else expect(calls(takeCalls())).toEqual(runPrinted(plan))
    })

    test('says of a job that it does not know that there is none', async () => {
      for (const command of ['status', 'logs', 'stop']) {
        const { code, err } = await capture([command, 'job-2'], {
          env: { XDG_DATA_HOME: root, XDG_CONFIG_HOME: root },
        })
        expect([code, err]).toEqual([2, expect.stringContaining('No job job-2 was made from here')])
      }
    })

    test('tells a job that was asked to stop before it began from one that failed', async () => {
      if (cluster) return // what was asked of it is its own to forget: see test/kube
      await run(AbortSignal.abort())
      expect((await capture(['status', 'job-1'], { env: { XDG_DATA_HOME: root } })).out).toContain('stopped')
    })

    const run = async (signal: AbortSignal = new AbortController().signal) =>
      await superviseCloudJob({ ...options, folder: folder(), executor: name, signal })

    /** A person could have run the lines by hand, after a look at them. */
    function runPrinted(plan: Plan): readonly Call[] {
      const { status, stderr } = spawnSync('sh', ['-e'], { input: printPlan(plan), env: options.env, encoding: 'utf8' })
      expect([status, stderr]).toEqual([0, ''])
      return takeCalls().map((call, i) =>
        readsJob(plan, i) ? { ...call, input: expect.stringMatching(/^{"name":"ctr"/) } : call,
      )
    }

    function writeProgram(program: string, body: string): void {
      mkdirSync(join(root, 'bin'), { recursive: true })
      const record = `{ printf '%s\\037' ${program} "$@"; printf '\\035%s\\036' "$input"; } >> "$HOME/calls"`
      writeFileSync(join(root, 'bin', program), `#!/bin/sh\n${body.replace('RECORD', record)}\n`, { mode: 0o755 })
    }

    function takeCalls(): readonly Call[] {
      const file = join(root, 'calls')
      const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
      rmSync(file, { force: true })
      return text
        .split('\x1e')
        .slice(0, -1)
        .map((entry) => {
          const [words = '', input = ''] = entry.split('\x1d')
          return { words: words.split('\x1f').slice(0, -1), input }
        })
    }
  })
}

function readsJob({ steps }: Plan, i: number): boolean {
  const step = steps[i]
  return step?.kind === 'command' && step.input.kind === 'job'
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze)
  return Object.freeze(value)
}
