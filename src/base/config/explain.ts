/** @file A resolved config as a person reads it: dotted keys and values. */
import { isRecord } from './override.ts'
import { UNNEEDED } from './paddlerec-keys.ts'
import type { JobConfig } from './resolve.ts'
import { RUNNER_GROUPS } from './schema.ts'
import { defaultOf } from './walk.ts'

/** The settings of the run by dotted key: all of training, of the rest what is not at its default. */
export function explain(config: JobConfig): Readonly<Record<string, unknown>> {
  const runner = config.runner as Readonly<Record<string, unknown>>
  const shown = RUNNER_GROUPS.flatMap(({ title, shape }) =>
    Object.entries(shape).filter(([key, schema]) => {
      const value = runner[key]
      if (value === undefined || key === 'custom' || key in UNNEEDED.shape) return false
      return ALWAYS.has(title) || JSON.stringify(value) !== JSON.stringify(defaultOf(schema))
    }),
  )
  return {
    config: config.path,
    ...Object.fromEntries(shown.map(([key]) => [`runner.${key}`, masked(key, runner[key])])),
    ...flatten(config.runner.custom, 'runner.custom'),
    ...flatten(config.hyper_parameters, 'hyper_parameters'),
    ...flatten(config.table_parameters, 'table_parameters'),
  }
}

/** `explain` as aligned lines. */
export function formatSettings(settings: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(settings).map((key) => key.length))
  return Object.entries(settings)
    .map(([key, value]) => `${key.padEnd(width)}  ${pythonText(value)}`)
    .join('\n')
}

const ALWAYS: ReadonlySet<string> = new Set(['Training'])

/** Names of keys that hold secrets, as part of an expression: `token`, `db_password`, `aws_secret_access_key`. */
export const SECRET_KEYS = String.raw`fs_ugi|\w*(?:passwd|password|token|secret|(?:secret|access|api|private)_?key)|(?:\w+_)?(?:ak|sk)`
const SECRET_KEY = new RegExp(`^(?:${SECRET_KEYS})$`, 'i')

const masked = (key: string, value: unknown): unknown => {
  if (key === 'fs_ugi') return '***'
  return key === 'fs_client' && isRecord(value) ? { ...value, passwd: '***' } : value
}

function flatten(value: unknown, prefix: string): Record<string, unknown> {
  const name = prefix.slice(prefix.lastIndexOf('.') + 1)
  if (typeof value === 'string' && SECRET_KEY.test(name)) return { [prefix]: '***' }
  if (!isRecord(value)) return { [prefix]: value }
  return Object.assign({}, ...Object.entries(value).map(([key, item]) => flatten(item, `${prefix}.${key}`)))
}

function pythonText(value: unknown): string {
  if (value === undefined || value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
