/** @file What is seen, in the address: a link opens the same view. */

export interface Route {
  /** Empty: the list of runs. */
  readonly run: string
  /** On a job server; empty: the list of jobs, or what `page` says. */
  readonly job: string
  readonly page: '' | 'account'
  readonly path: string
  readonly params: URLSearchParams
}

export function route(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#/, '').split('?')
  const [, job = '', run = ''] = /^(?:\/job\/([\w-]+))?(?:\/run\/([\w-]+))?\/?$/.exec(path) ?? []
  return { run, job, page: path === '/account' ? 'account' : '', path, params: new URLSearchParams(query) }
}

/** Runs of a job server lie below their job. */
export const linkTo = (run: string, params: Readonly<Record<string, string>> = {}) => {
  const { job } = route()
  return hashOf(`${job === '' ? '' : `/job/${job}`}${run === '' ? '' : `/run/${run}`}`, params)
}

export const linkToJob = (job: string) => hashOf(job === '' ? '' : `/job/${job}`)
export const ACCOUNT = '#/account'

function hashOf(path: string, params: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(params).toString()
  return `#${path === '' ? '/' : path}${query === '' ? '' : `?${query}`}`
}

/** Changes parts of the view; an empty value takes one out. */
export function setParams(changes: Readonly<Record<string, string>>): void {
  const { path, params } = route()
  for (const [key, value] of Object.entries(changes))
    if (value === '') params.delete(key)
    else params.set(key, value)
  history.replaceState(undefined, '', hashOf(path, Object.fromEntries(params)))
}

/** What is remembered between visits. */
export function remembered<T>(key: string, fallback: T): T {
  try {
    return (JSON.parse(localStorage.getItem(`oarfish.${key}`) ?? 'null') as T | null) ?? fallback
  } catch {
    return fallback
  }
}

export const remember = (key: string, value: unknown) => localStorage.setItem(`oarfish.${key}`, JSON.stringify(value))
