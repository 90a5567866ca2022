/** @file What every epoch measured and left behind, and its slices and reports. */
import type { CalibrationPart, EpochRow, RunDetail, Slice, SlotsImportance } from '../src/jobs/dashboard/api.ts'
import { h, svg } from './dom.ts'
import { saveTools } from './save-tools.ts'
import { bytes, duration, metric, number } from './text.ts'
import { t } from './words.ts'

export function epochsView({ epochs, importance }: RunDetail): HTMLElement {
  if (epochs.length === 0) return h('p', { class: 'muted' }, t('noCurves'))
  const names = (of: (row: EpochRow) => object | undefined) => [
    ...new Set(epochs.flatMap((row) => Object.keys(of(row) ?? {}))),
  ]
  const [train, test] = [names((row) => row.train), names((row) => row.test)]
  const head = (text: string, isNumber = true) => h('th', { scope: 'col', class: isNumber ? 'number' : '' }, text)
  const row = (own: EpochRow) =>
    h(
      'tr',
      { class: own.isBest ? 'differs' : '' },
      h('th', { scope: 'row' }, String(own.epoch), own.isBest ? h('span', { class: 'tag' }, t('best')) : undefined),
      ...train.map((name) => h('td', { class: 'number' }, metric(own.train?.[name]))),
      ...test.map((name) => h('td', { class: 'number' }, metric(own.test?.[name]))),
      h('td', { class: 'number' }, own.seconds === undefined ? '' : duration(own.seconds * 1000)),
      h('td', {}, own.saved ?? ''),
      h('td', { class: 'number' }, bytes(own.bytes)),
    )
  const table = h(
    'table',
    {},
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        head(t('epoch'), false),
        ...train.map((name) => head(name)),
        ...test.map((name) => head(t('test', { name }))),
        head(t('duration')),
        head(t('saved'), false),
        head(t('size')),
      ),
    ),
    h('tbody', {}, ...epochs.map(row)),
  )
  const last = epochs.findLast(({ slices, reports }) => slices || reports)
  return h(
    'div',
    { class: 'stack' },
    h(
      'section',
      { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('epochs') },
      h('header', {}, h('h3', {}, t('epochs')), saveTools(t('epochs'), { table })),
      table,
    ),
    ...calibrationsOf(epochs),
    importance && importanceOf(importance),
    ...(last ? [...slicesOf(last), ...reportsOf(last)] : []),
  )
}

const [SIZE, EDGE] = [260, 34]

/** Of the newest epoch that has it: on the diagonal as often as was predicted. */
function calibrationsOf(epochs: readonly EpochRow[]): HTMLElement[] {
  const last = epochs.findLast(({ calibration }) => calibration)
  return Object.entries(last?.calibration ?? {})
    .filter(([, parts]) => parts.length > 1)
    .map(([name, parts]) => {
      const title = t('calibration', { name, epoch: last!.epoch })
      const picture = calibrationPicture(parts, title)
      return h(
        'section',
        { class: 'card' },
        h(
          'header',
          {},
          h('h3', {}, title),
          h('span', { class: 'muted' }, t('calibrationHint')),
          saveTools(title, { picture }),
        ),
        picture,
      )
    })
}

function calibrationPicture(parts: readonly CalibrationPart[], title: string): SVGElement {
  const most = Math.max(...parts.flatMap(({ predicted, happened }) => [predicted, happened])) || 1
  const x = (value: number) => EDGE + (value / most) * (SIZE - EDGE - 10)
  const y = (value: number) => SIZE - EDGE - (value / most) * (SIZE - EDGE - 10)
  const points = parts
    .map(({ predicted, happened }) => `${x(predicted).toFixed(1)},${y(happened).toFixed(1)}`)
    .join(' ')
  const text = (at: object, words: string, more: object = {}) => svg('text', { ...at, class: 'tick', ...more }, words)
  return svg(
    'svg',
    { width: SIZE, height: SIZE, role: 'img', 'aria-label': title },
    svg('line', { x1: x(0), y1: y(0), x2: x(most), y2: y(most), class: 'axis', 'stroke-dasharray': '4 4' }),
    svg('polyline', { points, class: 'calibration' }),
    ...parts.map(({ predicted, happened, samples }) =>
      svg(
        'circle',
        { cx: x(predicted), cy: y(happened), r: 3, class: 'calibration-point' },
        svg(
          'title',
          {},
          t('calibrationPoint', { predicted: metric(predicted), happened: metric(happened), samples: number(samples) }),
        ),
      ),
    ),
    text({ x: SIZE - 10, y: SIZE - 8 }, `${t('predicted')} ${metric(most)}`, { 'text-anchor': 'end' }),
    text({ x: 4, y: 14 }, `${t('happened')} ${metric(most)}`),
    text({ x: EDGE, y: SIZE - 8 }, '0'),
  )
}

/** Bars from nothing lost; the whisker is the spread of the rounds. */
function importanceOf({ epoch, samples, metric: name, auc, slots }: SlotsImportance): HTMLElement {
  const most = Math.max(1e-9, ...slots.map(({ lost, spread }) => lost + spread))
  const share = (value: number) => `${Math.max(0, Math.min(100, (100 * value) / most))}%`
  const row = ({ slot, lost, spread }: SlotsImportance['slots'][number]) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, slot),
      h(
        'td',
        { class: 'wide' },
        h(
          'div',
          { class: 'bar importance' },
          h('span', { style: { width: share(lost), background: 'var(--blue)' } }),
          h('i', {
            style: { left: share(lost - spread), width: `calc(${share(lost + spread)} - ${share(lost - spread)})` },
          }),
        ),
      ),
      h('td', { class: 'number' }, lost.toFixed(5)),
      h('td', { class: 'number' }, `± ${spread.toFixed(5)}`),
    )
  const table = h('table', {}, h('tbody', {}, ...slots.map(row)))
  return h(
    'section',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': t('importance') },
    h(
      'header',
      {},
      h('h3', {}, t('importance')),
      h('span', { class: 'muted' }, t('importanceHint', { name, auc: metric(auc), epoch, samples: number(samples) })),
      saveTools(t('importance'), { table }),
    ),
    table,
  )
}

function slicesOf({ epoch, slices = {} }: EpochRow): HTMLElement[] {
  const head = (text: string, isNumber = true) => h('th', { scope: 'col', class: isNumber ? 'number' : '' }, text)
  const row = ({ value, samples, auc }: Slice) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, value),
      h('td', { class: 'number' }, number(samples)),
      h('td', { class: 'number' }, metric(auc)),
    )
  return Object.entries(slices).map(([name, values]) => {
    const heads = h(
      'thead',
      {},
      h('tr', {}, head(t('value'), false), head(t(values[0]?.weighted ? 'weights' : 'samples')), head('AUC')),
    )
    const table = h('table', {}, heads, h('tbody', {}, ...values.map(row)))
    const hint = h('span', { class: 'muted' }, t('slices', { epoch }))
    const title = h('header', {}, h('h3', {}, name), hint, saveTools(name, { table }))
    return h('section', { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': name }, title, table)
  })
}

const reportsOf = ({ reports = {} }: EpochRow) =>
  Object.entries(reports).map(([name, text]) =>
    h('section', { class: 'card' }, h('header', {}, h('h3', {}, name)), h('pre', { tabindex: 0 }, text)),
  )
