/** @file Sweeps above the list of runs: how far each is, what is best so far, and of halving which runs went on to which rung. */
import type { RunRow, SweepRow } from '../src/jobs/dashboard/api.ts'
import { h } from './dom.ts'
import { linkTo } from './route.ts'
import { badge, cellText } from './runs-table.ts'
import { saveTools } from './save-tools.ts'
import { isSmallBetter, metric, shortKey } from './text.ts'
import { t } from './words.ts'

const MOST_ROWS = 30

export function sweepCards(sweeps: readonly SweepRow[], runs: readonly RunRow[]): HTMLElement[] {
  return sweeps.flatMap((sweep) => {
    const own = runs.filter((run) => run.sweep === sweep.name)
    return own.length === 0 ? [] : [cardOf(sweep, own)]
  })
}

function cardOf(sweep: SweepRow, runs: readonly RunRow[]): HTMLElement {
  const { name, strategy, keys, rungs } = sweep
  const by = sweep.metric ?? (runs.some(({ test }) => 'auc' in test) ? 'auc' : 'loss')
  const ranked = inOrder(runs, by)
  const passed = rungs.map(({ epochs }) => runs.filter((run) => hasPassed(run, epochs)).length)
  const [done, planned] = [passed.reduce((sum, one) => sum + one, 0), rungs.reduce((sum, one) => sum + one.runs, 0)]
  const best = ranked.find((run) => resultOf(run, by) !== undefined)
  const failed = runs.filter(({ state }) => state === 'failed').length
  const title = t('sweepTitle', { name })
  const tree = rungs.length > 1 ? treeOf(sweep, ranked, by, title) : undefined
  return h(
    'section',
    { class: 'card sweep', 'aria-label': title },
    h(
      'header',
      {},
      h('h3', {}, h('a', { href: linkTo('', { q: `sweep=${name}`, tab: 'parallel' }) }, title)),
      h('span', { class: 'muted' }, [strategy, ...keys.map(shortKey)].join(' · ')),
      tree && saveTools(title, { table: tree }),
    ),
    h(
      'p',
      { class: 'muted', role: 'status' },
      planned > 0 ? t('sweepDone', { done, planned }) : `${runs.length} ${t('runs').toLowerCase()}`,
      failed > 0 ? `, ${failed} ${t('failed')}` : '',
      best ? ['. ', t('sweepBest'), ' '].join('') : '',
      best && h('a', { href: linkTo(best.id) }, best.name),
      best && `: ${by} ${metric(resultOf(best, by))} (${keys.map((key) => textOf(best, key)).join(', ')})`,
    ),
    planned > 0 && done < planned && h('progress', { max: planned, value: done, 'aria-label': title }),
    tree && h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t('rungs') }, tree),
    tree && runs.length > MOST_ROWS && h('p', { class: 'muted' }, t('sweepMore', { count: runs.length - MOST_ROWS })),
  )
}

const textOf = ({ settings }: RunRow, key: string) => `${shortKey(key)} ${cellText(settings[key])}`
const hasPassed = ({ state, epochs = 0 }: RunRow, wanted: number) =>
  epochs > wanted || (epochs === wanted && state === 'done')

/** By its best epoch, as the sweep compares; of one under way by the newest. */
const resultOf = ({ best, test }: RunRow, by: string) => (best?.metric === by ? best.value : test[by])

/** Those that came further first: fewer epochs say less. */
function inOrder(runs: readonly RunRow[], by: string): readonly RunRow[] {
  const sign = isSmallBetter(by) ? 1 : -1
  const rank = (run: RunRow) => sign * (resultOf(run, by) ?? sign * Number.POSITIVE_INFINITY)
  return [...runs].sort((a, b) => (b.epochs ?? 0) - (a.epochs ?? 0) || rank(a) - rank(b) || 0)
}

/** A row a run, a column a rung: the tree that halving cuts down. */
function treeOf({ keys, rungs }: SweepRow, ranked: readonly RunRow[], by: string, title: string): HTMLTableElement {
  const head = (text: string, kind = '') => h('th', { scope: 'col', class: kind }, text)
  const cell = (run: RunRow, epochs: number) =>
    hasPassed(run, epochs)
      ? h('td', { class: 'rung passed' }, h('span', { 'aria-label': t('done') }, '●'))
      : h('td', { class: 'rung' }, run.epochs === epochs ? badge(run.state, run.progress) : '')
  const row = (run: RunRow) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, h('a', { href: linkTo(run.id) }, run.name)),
      ...rungs.map(({ epochs }) => cell(run, epochs)),
      h('td', { class: 'number' }, metric(resultOf(run, by))),
      ...keys.map((key) => h('td', { class: 'number' }, cellText(run.settings[key]))),
    )
  return h(
    'table',
    { 'aria-label': title },
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        head(t('name')),
        ...rungs.map(({ epochs, runs }) => head(t('rung', { epochs, runs }), 'rung')),
        head(by, 'number'),
        ...keys.map((key) => head(shortKey(key), 'number')),
      ),
    ),
    h('tbody', {}, ...ranked.slice(0, MOST_ROWS).map(row)),
  )
}
