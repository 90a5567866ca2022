/** @file What the page can ask for, one function an address; answers are kept while what they were made of has not changed. */
import { readdirSync } from 'node:fs'
import { type ReadFile, type RunSummary, runPaths } from '../../base/runs/index.ts'
import type { Axis, Charts, LogLines, RunDetail, Series } from './api.ts'
import { CurveCache, stampOf } from './curve-cache.ts'
import { logQuery, readLog } from './logs.ts'
import { followersFolder } from './online.ts'
import { detailOf } from './run-detail.ts'
import { curvesOf, RunIndex } from './run-index.ts'
import { lineOf } from './series.ts'

const LIST_TOPIC = ''
const MOST_BUCKETS = 4000
const MOST_RUNS = 50
const MOMENT_MS = 1000
const MOST_STAMPS = 1000

export interface AnswerOptions {
  readonly folders: readonly string[]
  readonly version: string
  /** How files of runs are read: who shows those of others makes sure that no link leads elsewhere. */
  readonly read?: ReadFile | undefined
  /** Logs elsewhere are not shown. @default anywhere, where the log says that it is the run's */
  readonly logsWithin?: string | undefined
  /** Called before it is looked whether something has changed. */
  readonly refresh?: (() => void) | undefined
}

export class Answers {
  readonly index: RunIndex
  readonly #curves: CurveCache
  readonly #read: ReadFile | undefined
  readonly #logsWithin: string | undefined
  readonly #refresh: (() => void) | undefined
  readonly #stamps = new Map<string, { readonly at: number; readonly text: string }>()

  constructor({ folders, version, read, logsWithin, refresh }: AnswerOptions) {
    this.index = new RunIndex(folders, version, read)
    this.#curves = new CurveCache(read)
    this.#read = read
    this.#logsWithin = logsWithin
    this.#refresh = refresh
  }

  /** Changes with the run, or with the list where `topic` is empty; looked up once for all who ask within a moment. */
  stamp(topic: string): string {
    const known = this.#stamps.get(topic)
    if (known && performance.now() - known.at < MOMENT_MS) return known.text
    const text = this.#lookUp(topic)
    if (this.#stamps.size > MOST_STAMPS) this.#stamps.clear()
    this.#stamps.set(topic, { at: performance.now(), text })
    return text
  }

  #lookUp(topic: string): string {
    this.#refresh?.()
    if (topic === LIST_TOPIC) {
      const { runs } = this.index.list()
      return runs.map(({ id, state, updatedAt, tags }) => `${id} ${state} ${updatedAt} ${tags}`).join('\n')
    }
    const run = this.index.run(topic)
    return run
      ? `${run.state} ${run.updatedAt} ${run.tags} ${stampsIn(run.folder)} ${stampOf(followersFolder(run.meta))}`
      : 'gone'
  }

  detail(id: string): RunDetail | undefined {
    const run = this.index.run(id)
    return run && detailOf(run, this.#curves, this.#read)
  }

  /** Of one run all its processes, of several the first of each. */
  charts(ids: readonly string[], query: URLSearchParams): Charts {
    const runs = ids.slice(0, MOST_RUNS).flatMap((id) => {
      const run = this.index.run(id)
      return run ? [{ id, run, names: namesOf(run, ids.length > 1, query.get('process')) }] : []
    })
    const number = (name: string) => (query.has(name) ? Number(query.get(name)) : undefined)
    const options = {
      axis: (['step', 'samples', 'time'] as const).find((one) => one === query.get('x')) ?? ('step' satisfies Axis),
      phase: query.get('phase') === 'test' ? 'test' : 'train',
      from: number('from'),
      to: number('to'),
      points: Math.min(MOST_BUCKETS, Math.max(10, number('points') ?? 500)),
      smooth: Math.min(1, Math.max(0, number('smooth') ?? 0)),
    } as const
    let damaged = 0
    const lines = runs.flatMap(({ id, run, names }) =>
      names.map((process) => {
        const curves = this.#curves.read(runPaths(run.folder).curveFile(process))
        damaged += curves.damaged
        return { id, process, curves }
      }),
    )
    const metrics = (query.get('y') ?? 'loss').split(',').slice(0, 20)
    const charts = metrics.map((metric) => {
      const series = lines.map(({ id, process, curves }): Series => {
        const { x, y, total } = lineOf(curves, { ...options, metric })
        return { run: id, process, x: Array.from(x, rounded), y: Array.from(y, finite), total }
      })
      return [metric, series.filter(({ total }) => total > 0)] as const
    })
    return { charts: Object.fromEntries(charts), damaged }
  }

  log(id: string, process: string, query: URLSearchParams): LogLines | undefined {
    const run = this.index.run(id)
    const path = run?.processes.find(({ name }) => name === process)?.log
    if (!run || path === undefined) return undefined
    return readLog(path, { run: run.folder, within: this.#logsWithin }, logQuery(query))
  }
}

function namesOf(run: RunSummary, isFirstOnly: boolean, asked: string | null): readonly string[] {
  const names = curvesOf(run.folder).filter((name) => asked === null || name === asked)
  const lead = names.find((name) => name === run.lead?.name) ?? names[0]
  return isFirstOnly && lead !== undefined ? [lead] : names
}

const stampsIn = (folder: string) => {
  const { events, curves } = runPaths(folder)
  const files = [events, curves].flatMap((path) => filesIn(path).map((file) => stampOf(`${path}/${file}`)))
  return [...files, stampOf(`${folder}/importance.json`)].join(' ')
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Six digits are more than a chart shows. */
const rounded = (value: number) => (Number.isInteger(value) ? value : Number(value.toPrecision(12)))
const finite = (value: number) => (Number.isFinite(value) ? Number(value.toPrecision(7)) : null)
