/** @file A worker asks servers for what takes longer than a request may, and hears how far they are. */
import { randomUUID } from 'node:crypto'
import { readJson } from '../../base/net/index.ts'
import { METHODS } from './protocol.ts'
import type { ServerGroup } from './server-group.ts'
import { readTaskAnswer, type TableTask, type TableTaskAnswer } from './table-tasks.ts'

type Asked<T> = T extends TableTask ? Omit<T, 'id'> : never
export type AskedTask = Asked<TableTask>

export const numbersOf = ({ size }: ServerGroup) => Array.from({ length: size }, (_, server) => server)

/** Asks these servers until each is done; answers in their order. `onRows` gets the rows of all. */
export async function askServers(
  servers: ServerGroup,
  numbers: readonly number[],
  asked: AskedTask,
  onRows: (table: number, rows: number) => void = () => undefined,
): Promise<readonly TableTaskAnswer[]> {
  const body = Buffer.from(JSON.stringify({ ...asked, id: randomUUID() }))
  const answers = numbers.map((): TableTaskAnswer => ({ done: false, rows: {} }))
  const report = () => {
    const done = (table: number) => answers.reduce((sum, { rows }) => sum + (rows[table] ?? 0), 0)
    for (const table of asked.tables) onRows(table, done(table))
  }
  const ask = async (at: number) => {
    while (!answers[at]!.done) {
      const text = await servers.request(numbers[at]!, METHODS.tables, [body], `${asked.kind}(tables)`)
      answers[at] = readJson(text, 'progress', readTaskAnswer)
      report()
    }
  }
  // All of them, also where one has failed: none may still be at work when the caller goes on.
  for (const end of await Promise.allSettled(answers.map((_, at) => ask(at))))
    if (end.status === 'rejected') throw end.reason
  return answers
}
