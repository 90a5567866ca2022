/** @file The table of all-reduces: milliseconds, and how they compare with the same call in C. */
import { markdown } from './markdown.ts'
import type { Json } from './tools.ts'

export function collectiveTable(figures: readonly Json[]): string {
  const key = ({ ranks, bytes }: Json) => `${ranks} ${bytes}`
  const msOf = (name: string, like: Json) =>
    figures.find((figure) => figure['name'] === name && key(figure) === key(like))?.['ms'] as number | undefined
  const rows = figures.map((figure) => {
    const [name, ms] = [String(figure['name']), Number(figure['ms'])]
    const inC = msOf(name.replace('through Oarfish', 'in C'), figure)
    const best = ['Open MPI in C', 'MPICH in C'].flatMap((other) => msOf(other, figure) ?? [])
    const beside = name.startsWith('ring') ? (best.length > 0 ? Math.min(...best) : undefined) : inC
    const ratio = name.endsWith('in C') || beside === undefined ? '' : `${(ms / beside).toFixed(2)}x`
    return [name, figure['ranks'], `${Number(figure['bytes']) / 1e6} MB`, ms.toFixed(2), ratio].map(String)
  })
  const head = ['all-reduce of float32', 'processes', 'size', 'ms (median)', 'beside C']
  return `All-reduce over processes of this host; the ring beside the faster of both MPIs in C:\n\n${markdown(head, rows)}`
}
