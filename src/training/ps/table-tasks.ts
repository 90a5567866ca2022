/** @file What a server does with its tables as a whole: saves them, loads Paddle's text files, lets a day pass. Each may take longer than a request may. */
import {
  byKind,
  checkMessage,
  fields,
  list,
  oneOf,
  optional,
  type Parts,
  type Reader,
  readJson,
  record,
  text,
  truth,
  whole,
} from '../../base/net/index.ts'
import {
  loadTableText,
  type Placement,
  type SaveMode,
  saveTableText,
  shardsPerServer,
} from '../../weights/table/index.ts'
import {
  type CheckpointOutcome,
  type CheckpointTask,
  CheckpointTasks,
  checkpointReaders,
  isCheckpointTask,
  readOutcome,
} from './checkpoint-tasks.ts'
import type { KernelStore } from './kernel-store.ts'

/** What is asked; the same `id` asks how far it is. */
export type TableTask = { readonly id: string } & (
  | {
      readonly kind: 'save'
      readonly folder: string
      readonly mode: SaveMode
      readonly compress: boolean
      readonly tables: readonly number[]
    }
  | { readonly kind: 'load'; readonly folder: string; readonly tables: readonly number[] }
  | { readonly kind: 'shrink'; readonly tables: readonly number[] }
  | CheckpointTask
  | { readonly kind: 'settle'; readonly mode: SaveMode; readonly tables: readonly number[] }
)

const common = { id: text(256), tables: list(whole(0, 65_535), 65_536) }
const path = text(4096)
const readTask = byKind<TableTask>({
  save: fields({
    ...common,
    kind: oneOf(['save']),
    folder: path,
    mode: whole(0, 3) as Reader<SaveMode>,
    compress: truth,
  }),
  load: fields({ ...common, kind: oneOf(['load']), folder: path }),
  shrink: fields({ ...common, kind: oneOf(['shrink']) }),
  ...checkpointReaders(common),
  settle: fields({ ...common, kind: oneOf(['settle']), mode: whole(0, 3) as Reader<SaveMode> }),
})

/** Rows by table: saved, loaded or deleted so far. */
export interface TableTaskAnswer {
  readonly done: boolean
  readonly rows: Readonly<Record<number, number>>
  /** What came of it, where that is more than rows. */
  readonly outcome?: CheckpointOutcome | undefined
}

const count = whole(0, Number.MAX_SAFE_INTEGER)
export const readTaskAnswer = fields<TableTaskAnswer>({
  done: truth,
  rows: record(count, 65_536),
  outcome: optional(readOutcome),
})

interface Running {
  readonly rows: Record<number, number>
  readonly finished: Promise<CheckpointOutcome | undefined>
  done: boolean
  outcome?: CheckpointOutcome | undefined
  failure?: unknown
}

/** An answer is given after so long at the latest. */
const PATIENCE_MS = 1000

export class TableTasks {
  readonly #store: KernelStore
  readonly #placement: Placement
  readonly #server: number
  readonly #running = new Map<string, Running>()
  readonly #checkpoints: CheckpointTasks

  constructor(store: KernelStore, placement: Placement, server: number) {
    this.#checkpoints = new CheckpointTasks(store, placement, server)
    this.#store = store
    this.#placement = placement
    this.#server = server
  }

  async handle(body: Uint8Array): Promise<Parts> {
    const task = readJson(body, 'task', readTask)
    const { tables } = this.#store.params
    checkMessage(
      task.tables.every((table) => table < tables.length),
      `a table beyond the ${tables.length} there are`,
    )
    const running = this.#running.get(task.id) ?? this.#start(task)
    await Promise.race([
      running.finished.catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, PATIENCE_MS).unref()),
    ])
    if (running.failure) throw running.failure
    const { done, rows, outcome } = running
    const answer: TableTaskAnswer = { done, rows, outcome }
    return [Buffer.from(JSON.stringify(answer))]
  }

  #start(task: TableTask): Running {
    const rows: Record<number, number> = {}
    const running: Running = { rows, done: false, finished: this.#run(task, rows) }
    running.finished.then(
      (outcome) => {
        running.done = true
        running.outcome = outcome
      },
      (failure: unknown) => {
        running.failure = failure
      },
    )
    // Kept a while after its end: the last answer may be lost and asked for again.
    const forget = () => setTimeout(() => this.#running.delete(task.id), 60_000).unref()
    running.finished.then(forget, forget)
    this.#running.set(task.id, running)
    return running
  }

  async #run(task: TableTask, rows: Record<number, number>): Promise<CheckpointOutcome | undefined> {
    if (isCheckpointTask(task)) return this.#checkpoints.run(task, rows)
    const each = shardsPerServer(this.#placement)
    const { shards } = this.#placement
    const first = Math.min(shards, this.#server * each)
    const range = { server: this.#server, first, count: Math.min(each, shards - first), shards }
    for (const number of task.tables) {
      const table = this.#store.params.tables[number]!
      const onRows = (done: number) => {
        rows[number] = done
      }
      const common = { number, table, range, onRows, optimizer: this.#store.optimizerOf(number) }
      const { steps } = this.#store
      if (task.kind === 'shrink') onRows(this.#store.shrink(number))
      else if (task.kind === 'settle') table.settle(task.mode)
      else if (task.kind === 'load') onRows(await loadTableText({ ...common, steps, folder: task.folder }))
      else {
        const { folder, mode, compress } = task
        onRows(await saveTableText({ ...common, steps, folder, mode, compress }))
      }
    }
    return undefined
  }
}
