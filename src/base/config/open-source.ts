/** @file From a file to its text with positions; what is refused before it is parsed is told like any other problem of a config. */
import type { Override } from './override.ts'
import { ConfigError } from './problem.ts'
import { type ConfigSource, readSource } from './source.ts'
import { readYamlFile, YamlRefusal } from './yaml-text.ts'

/** `file` is the name that the user gave it. */
export const openSource = (file: string, absolute: string, overrides: readonly Override[] = []): ConfigSource =>
  sourceOf(file, yamlTextOf(file, absolute), overrides)

export const yamlTextOf = (file: string, absolute: string): string => withPosition(file, () => readYamlFile(absolute))

export const sourceOf = (file: string, text: string, overrides: readonly Override[] = []): ConfigSource =>
  withPosition(file, () => readSource(file, text, overrides))

function withPosition<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof YamlRefusal)) throw error
    const { message, text, at, to } = error
    const place = text === '' ? ({ kind: 'none' } as const) : ({ kind: 'file', span: { from: at, to } } as const)
    const advice = {
      kind: 'advice',
      text: 'write the settings out, a few keys a group; data belongs in files of its own',
    }
    throw new ConfigError(
      [{ code: 'CONFIG_LIMIT', key: '', message, place, fix: advice as { kind: 'advice'; text: string } }],
      { file, text },
    )
  }
}
