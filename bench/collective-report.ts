/** @file The tables of all-reduces beside the same call in C, and of data parallel beside threads. */
import { markdown } from './markdown.ts'
import { type Json, median, thousands } from './tools.ts'

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

export function dataParallelTable(runs: readonly Json[]): string {
  const names = [...new Set(runs.map(({ name }) => String(name)))]
  const of = (name: string, key: string) =>
    median(runs.filter((run) => run['name'] === name).map((run) => Number(run[key])))
  const [first = ''] = names
  const rows = names.map((name) => {
    const [rate, cpu] = [of(name, 'samplesPerSecond'), of(name, 'cpuMicroseconds')]
    const percent = (value: number) => `${Math.round(100 * value)} %`
    return [name, thousands(rate), percent(rate / of(first, 'samplesPerSecond')), cpu.toFixed(1)]
  })
  const head = ['CTR DNN, batches of 512', 'samples/s (median)', 'beside threads', 'processor time a sample, us']
  return `Data parallel on this host; a step of two processes is one of 1024 samples:\n\n${markdown(head, rows)}`
}
