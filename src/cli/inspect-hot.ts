/** @file The hottest rows and servers of a job as a person reads them. */
import type { JobHotReport } from '../training/ps/index.ts'

export function hotText({ servers, tables }: JobHotReport): readonly string[] {
  const all = servers.reduce((sum, { pulled }) => sum + pulled, 0)
  const names = servers.map(({ server, endpoint }) => `server[${server}] ${endpoint}`)
  return [
    ...servers.map(({ pulled }, i) => `${padded(names, i)}  ${count(pulled)} rows pulled, ${share(pulled, all)}`),
    ...(servers.length > 1 && all > 0
      ? [`the busiest has ${times(servers.map(({ pulled }) => pulled))} of the mean`]
      : []),
    ...tables.flatMap(tableText),
  ]
}

function tableText({ name, pulled, rows }: JobHotReport['tables'][number]): readonly string[] {
  if (rows.length === 0) return [`table ${name}: ${count(pulled)} rows pulled, too few to tell which are hot`]
  const top = rows.reduce((sum, { pulls }) => sum + pulls, 0)
  const [keys, pulls] = [rows.map(({ key }) => key), rows.map((row) => `about ${count(row.pulls)}`)]
  return [
    `table ${name}: ${count(pulled)} rows pulled, ${share(top, pulled)} of them the ${count(rows.length)} hottest`,
    ...rows.map(
      ({ server, shard }, i) => `  ${padded(keys, i)}  server[${server}], shard ${shard}  ${padded(pulls, i)} pulls`,
    ),
  ]
}

const padded = (all: readonly string[], i: number) => all[i]!.padEnd(Math.max(...all.map(({ length }) => length)))
const share = (part: number, all: number) => `${((100 * Math.min(part, all)) / Math.max(all, 1)).toFixed(1)} %`
const times = (values: readonly number[]) =>
  ((Math.max(...values) * values.length) / values.reduce((sum, value) => sum + value, 0)).toFixed(2)
const count = (value: number) => value.toLocaleString('en-US')
