/** @file What names something else in a 1.x config: modes, phases, datasets; and keys that are right alone and wrong together. */
import { suggest } from '../../util/index.ts'
import { placeOf, setFix } from '../mend.ts'
import { isRecord } from '../override.ts'
import type { ConfigCode, ConfigProblem } from '../problem.ts'
import type { ConfigSource } from '../source.ts'
import type { Path } from '../walk.ts'
import { itemsOf } from './free-keys.ts'
import { parseDenseSlots, parseSparseSlots, repeatedSlots } from './slots.ts'

/** Works on unchecked data, so that these are found in the same pass as wrong types, which are not its business. */
export function references(data: unknown, source: ConfigSource): ConfigProblem[] {
  if (!isRecord(data)) return []
  const found: ConfigProblem[] = []
  const report: Report = (path, message, instead, { guess, code = 'CONFIG_VALUE' } = {}) => {
    const place = placeOf(source, path, 'value')
    found.push({ code, key: path.join('.'), message, guess, place, fix: setFix(source, path, instead) })
  }
  const [runners, datasets, phases] = [itemsOf(data, 'runner'), itemsOf(data, 'dataset'), itemsOf(data, 'phase')]
  for (const items of [runners, datasets, phases]) repeatedNames(items, report)
  const modes = namesOf(runners)
  if (data['mode'] === undefined && modes.length > 0)
    report(['mode'], `missing; it names the runners to run, of ${modes.join(', ')}`, [modes[0]], {
      code: 'CONFIG_MISSING_KEY',
    })
  listNames(data['mode'], ['mode'], 'runner', modes, report)
  for (const { item, path } of runners) {
    listNames(item['phases'], [...path, 'phases'], 'phase', namesOf(phases), report)
    runnerConflicts(item, path, runners, report)
  }
  for (const { item, path } of phases) datasetName(item, path, namesOf(datasets), report)
  for (const { item, path } of datasets) slotMistakes(item, path, report)
  return found
}

type Items = ReturnType<typeof itemsOf>
type Report = (
  path: Path,
  message: string,
  instead: unknown,
  more?: { readonly guess?: string | undefined; readonly code?: ConfigCode },
) => void

const namesOf = (items: Items): readonly string[] =>
  items.flatMap(({ item }) => (typeof item['name'] === 'string' ? [item['name']] : []))

function repeatedNames(items: Items, report: Report): void {
  const seen = new Set<unknown>()
  for (const { item, path } of items) {
    const { name } = item
    if (typeof name === 'string' && seen.has(name))
      report([...path, 'name'], `two items of ${path[0]} have this name`, `${name}_2`, { code: 'CONFIG_CONFLICT' })
    seen.add(name)
  }
}

/** A list in which each item must be one of `known`; the fix is the whole list with the wrong names mended or left out. */
function listNames(list: unknown, path: Path, what: string, known: readonly string[], report: Report): void {
  if (!Array.isArray(list) || known.length === 0) return
  const wrong = list.find((name) => typeof name === 'string' && !known.includes(name))
  if (wrong === undefined) return
  const mended = [...new Set(list.flatMap((name) => (known.includes(name) ? [name] : (suggest(name, known) ?? []))))]
  const message = `there is no ${what} "${wrong}"; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`
  report(path, message, mended.length > 0 ? mended : [known[0]], { guess: suggest(wrong, known) })
}

function datasetName(item: Record<string, unknown>, path: Path, known: readonly string[], report: Report): void {
  const name = item['dataset_name']
  if (name === undefined && known.length > 0)
    report([...path, 'dataset_name'], `missing; there is ${known.join(', ')}`, known[0], { code: 'CONFIG_MISSING_KEY' })
  if (typeof name !== 'string' || known.includes(name)) return
  const guess = suggest(name, known)
  const there = known.length === 0 ? 'the config has no dataset at all' : `there is ${known.join(', ')}`
  if (known.length > 0) {
    report([...path, 'dataset_name'], `there is no dataset "${name}"; ${there}`, guess ?? known[0], { guess })
    return
  }
  const dataset = { name, batch_size: 32, data_path: '{workspace}/data/train' }
  report(['dataset'], `there is no dataset "${name}"; ${there}`, [dataset], { code: 'CONFIG_MISSING_KEY' })
}

function runnerConflicts(item: Record<string, unknown>, path: Path, runners: Items, report: Report): void {
  if (item['class'] === 'infer' && !item['init_model_path']) {
    const saved = runners
      .map((runner) => runner.item['save_checkpoint_path'])
      .find((value) => typeof value === 'string' && value)
    report(
      [...path, 'init_model_path'],
      'missing; infer evaluates the saved models of this folder',
      saved ?? 'increment_model',
      {
        code: 'CONFIG_MISSING_KEY',
      },
    )
  }
  if (item['save_step_interval'] !== undefined && item['save_step_interval'] !== -1 && !item['save_step_path']) {
    report([...path, 'save_step_path'], 'missing; save_step_interval is set, so a folder is needed', 'step_model', {
      code: 'CONFIG_MISSING_KEY',
    })
  }
}

function slotMistakes(item: Record<string, unknown>, path: Path, report: Report): void {
  const [sparse, dense] = [item['sparse_slots'], item['dense_slots']]
  const parsed = parseDenseSlots(typeof dense === 'string' ? dense : '')
  const names = typeof sparse === 'string' ? parseSparseSlots(sparse) : []
  if (parsed.mistake) report([...path, 'dense_slots'], parsed.mistake.message, parsed.mistake.instead)
  const repeated = repeatedSlots({ sparse: names, dense: parsed.slots })
  if (repeated.length === 0) return
  const others = new Set(parsed.slots.map(({ name }) => name))
  const instead = [...new Set(names)].filter((name) => !others.has(name)).join(' ')
  report([...path, 'sparse_slots'], `slot "${repeated[0]}" stands there twice`, instead)
}
