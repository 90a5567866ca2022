/** @file The chart of deploy/helm by the real helm, where there is one. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const CHART = fileURLToPath(new URL('../deploy/helm/oarfish', import.meta.url))

/** Why the chart cannot be tested here; undefined: it can. */
export const lacksHelm = spawnSync('helm', ['version']).error
  ? 'there is no helm on the PATH: https://helm.sh/docs/intro/install, or go install helm.sh/helm/v3/cmd/helm@v3.16.4'
  : undefined

/** What it prints; throws with its words where it fails. */
export function helm(...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('helm', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout
}
