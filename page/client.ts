/** @file Questions to the server that sent the page, and the news it has. */
import type { Charts, LogLines, RunDetail, RunList } from '../src/jobs/dashboard/api.ts'

/** What runs are asked of: this server, or one job of it (`/page/jobs/ID`). */
let base = ''
export const setBase = (path: string) => {
  base = path
}

/** Of the server: its own words, and what to do about it. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, { error, hint }: { readonly error: string; readonly hint?: string }) {
    super([error, hint].filter(Boolean).join(' '))
    this.status = status
  }
}

/** Undefined: there is no such thing (any more). */
export async function ask<T>(path: string, init?: RequestInit): Promise<T | undefined> {
  const response = await fetch(path, init)
  if (response.status === 404 && !init) return undefined
  if (!response.ok) throw new Refusal(response.status, (await response.json()) as { error: string })
  return (await response.json()) as T
}

export const askRuns = async () => (await ask<RunList>(`${base}/api/runs`))!
export const askRun = (id: string) => ask<RunDetail>(`${base}/api/runs/${id}`)

/** As many metrics as are answered at once. */
const MOST_METRICS = 20

export async function askCharts(
  ids: readonly string[],
  metrics: readonly string[],
  query: Readonly<Record<string, string | number | undefined>>,
): Promise<Charts['charts']> {
  const parts = Array.from({ length: Math.ceil(metrics.length / MOST_METRICS) }, (_, i) =>
    metrics.slice(i * MOST_METRICS, (i + 1) * MOST_METRICS),
  )
  const found = await Promise.all(
    parts.map((y) => ask<Charts>(`${base}/api/charts/${ids.join(',')}?${params({ ...query, y: y.join(',') })}`)),
  )
  return Object.assign({}, ...found.map((one) => one?.charts)) as Charts['charts']
}

export const askLog = (id: string, process: string, query: Readonly<Record<string, string>>) =>
  ask<LogLines>(`${base}/api/runs/${id}/logs/${encodeURIComponent(process)}?${params(query)}`)

function params(query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]))
  return new URLSearchParams(given).toString()
}

/** Calls back when the run has changed, or the list where `id` is empty; returns how to stop listening. */
export function listen(id: string, onChange: () => void, onState: (isThere: boolean) => void): () => void {
  return listenAt(`${base}/api/live/${id}`, onChange, onState)
}

export function listenAt(path: string, onChange: () => void, onState: (isThere: boolean) => void): () => void {
  const source = new EventSource(path)
  source.addEventListener('changed', () => {
    if (!document.hidden) onChange()
  })
  source.addEventListener('open', () => onState(true))
  source.addEventListener('error', () => onState(false))
  const onVisible = () => {
    if (!document.hidden) onChange()
  }
  document.addEventListener('visibilitychange', onVisible)
  return () => {
    source.close()
    document.removeEventListener('visibilitychange', onVisible)
  }
}
