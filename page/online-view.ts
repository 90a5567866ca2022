/** @file Online training: bases and deltas on a line of time, when each server that follows took them up, and how long after. */
import type { FollowerRow, Online, PublishedVersion, RunDetail } from '../src/jobs/dashboard/api.ts'
import { h, svg } from './dom.ts'
import { saveTools } from './save-tools.ts'
import { bytes, duration, number, when } from './text.ts'
import { languageTag, t } from './words.ts'

const [WIDTH, LEFT, RIGHT, ROW, TOP] = [900, 150, 16, 30, 20]
const LAG_HEIGHT = 150
const MOST_DRAWN = 20
const LISTED = 100
const COLORS = ['var(--blue)', 'var(--orange)', 'var(--green)', 'var(--red)', 'var(--muted)']
const colorOf = (i: number) => COLORS[i % COLORS.length]!

export function onlineView({ online }: RunDetail): HTMLElement {
  if (!online) return h('p', { class: 'muted' }, t('noVersions'))
  const drawn = online.followers.slice(0, MOST_DRAWN)
  return h(
    'div',
    { class: 'stack' },
    card(
      t('versionsTitle'),
      online.versions.length < online.total
        ? t('versionsShown', { shown: online.versions.length, total: online.total })
        : t('versionsHint'),
      timeLine(online.versions, drawn),
    ),
    drawn.some(({ taken }) => taken.length > 0)
      ? card(t('lagTitle'), t('lagHint'), lagPicture(online.versions, drawn))
      : undefined,
    card(
      t('followers'),
      drawn.length < online.followers.length
        ? t('followersDrawn', { shown: drawn.length, total: online.followers.length })
        : '',
      online.followers.length === 0 ? h('p', { class: 'muted' }, t('noFollowers')) : followersTable(online.followers),
    ),
    card(t('published'), '', versionsTable(online)),
  )
}

/** Wider than a phone: it is scrolled, by keys too. */
const card = (title: string, hint: string, content: Element) =>
  h(
    'section',
    { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': title },
    h('header', {}, h('h3', {}, title), h('span', { class: 'muted' }, hint), toolsOf(title, content)),
    content,
  )

function toolsOf(title: string, content: Element): HTMLElement | undefined {
  if (content instanceof SVGElement) return saveTools(title, { picture: content })
  const table = content instanceof HTMLTableElement ? content : content.querySelector('table')
  return table ? saveTools(title, { table }) : undefined
}

const nameOf = ({ day, pass }: PublishedVersion) => `${day}/${pass}`
const seconds = (value: number) => `${number(Number(value.toPrecision(3)))} s`

/** Clocks may jump: the line of time spans whatever times there are. */
function spanOf(times: readonly number[]): readonly [number, number] {
  const [from, to] = [Math.min(...times), Math.max(...times)]
  return [from, to > from ? to : from + 1000]
}

function timeLine(versions: readonly PublishedVersion[], followers: readonly FollowerRow[]): SVGElement {
  const shown = new Map(versions.map((version) => [version.sequence, version]))
  const takenOf = ({ taken }: FollowerRow) => taken.filter(({ sequence }) => shown.has(sequence))
  const [from, to] = spanOf([
    ...versions.map(({ at }) => at),
    ...followers.flatMap((one) => takenOf(one).map(({ at }) => at)),
  ])
  const x = (at: number) => LEFT + ((at - from) / (to - from)) * (WIDTH - LEFT - RIGHT)
  const y = (row: number) => TOP + row * ROW + ROW / 2
  const height = TOP + (followers.length + 1) * ROW + 24
  const label = (row: number, text: string) => svg('text', { x: 8, y: y(row) + 4, class: 'node-name' }, text)
  const line = (row: number) => svg('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(row), y2: y(row), class: 'axis' })
  const rows = followers.flatMap((follower, i) => [
    label(i + 1, follower.name),
    line(i + 1),
    ...takenOf(follower).flatMap(({ sequence, at, lagSeconds }) => {
      const version = shown.get(sequence)!
      const title = t('takenTitle', { version: nameOf(version), who: follower.name, lag: seconds(lagSeconds) })
      return [
        svg('line', { x1: x(version.at), y1: y(0), x2: x(at), y2: y(i + 1), class: 'link', 'stroke-opacity': 0.35 }),
        svg('circle', { cx: x(at), cy: y(i + 1), r: 4, fill: colorOf(i), class: 'taken' }, svg('title', {}, title)),
      ]
    }),
  ])
  const aria = t('versionsAria', {
    bases: versions.filter(({ kind }) => kind === 'base').length,
    deltas: versions.filter(({ kind }) => kind === 'delta').length,
    followers: followers.length,
  })
  return svg(
    'svg',
    { width: WIDTH, height, role: 'img', 'aria-label': aria },
    ...rows,
    label(0, t('published')),
    line(0),
    ...versions.map((version) => versionMark(version, x(version.at), y(0))),
    svg('text', { x: LEFT, y: height - 6, class: 'tick' }, when(from, languageTag())),
    svg('text', { x: WIDTH - RIGHT, y: height - 6, class: 'tick', 'text-anchor': 'end' }, when(to, languageTag())),
  )
}

/** A base is a square, a delta a bar. */
function versionMark(version: PublishedVersion, x: number, y: number): Node {
  const { kind, sequence, rows, gone } = version
  const words = { version: nameOf(version), sequence, kind: t(kind), rows: number(rows), gone: number(gone) }
  const title = svg('title', {}, t('versionTitle', { ...words, size: bytes(version.bytes) }))
  const [width, height] = kind === 'base' ? [12, 12] : [3, 18]
  const place = { x: x - width / 2, y: y - height / 2, width, height, rx: 1 }
  return svg('rect', { ...place, class: `version ${kind}` }, title)
}

/** A line for each server that follows, over the numbers of versions: pauses of a trainer take no room. */
function lagPicture(versions: readonly PublishedVersion[], followers: readonly FollowerRow[]): SVGElement {
  const [first, last] = [versions[0]!.sequence, versions.at(-1)!.sequence]
  const lags = followers.map(({ taken }) => taken.filter(({ sequence }) => sequence >= first && sequence <= last))
  const most = Math.max(0.1, ...lags.flat().map(({ lagSeconds }) => lagSeconds))
  const x = (sequence: number) => LEFT + ((sequence - first) / Math.max(1, last - first)) * (WIDTH - LEFT - RIGHT)
  const y = (lag: number) => LAG_HEIGHT - 24 - (lag / most) * (LAG_HEIGHT - 40)
  const lines = lags.flatMap((taken, i) => {
    const points = taken.map(({ sequence, lagSeconds }) => `${x(sequence).toFixed(1)},${y(lagSeconds).toFixed(1)}`)
    const dots = taken.map(({ sequence, lagSeconds }) =>
      svg(
        'circle',
        { cx: x(sequence), cy: y(lagSeconds), r: 3, fill: colorOf(i) },
        svg('title', {}, `${followers[i]!.name}: ${seconds(lagSeconds)}`),
      ),
    )
    const line = svg('polyline', { points: points.join(' '), fill: 'none', stroke: colorOf(i), 'stroke-width': 1.5 })
    return [line, ...dots]
  })
  const tick = (place: object, text: string) => svg('text', { ...place, class: 'tick' }, text)
  return svg(
    'svg',
    { width: WIDTH, height: LAG_HEIGHT, role: 'img', 'aria-label': t('lagAria', { most: seconds(most) }) },
    svg('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0), class: 'axis' }),
    ...lines,
    tick({ x: LEFT - 8, y: y(most) + 4, 'text-anchor': 'end' }, seconds(most)),
    tick({ x: LEFT - 8, y: y(0) + 4, 'text-anchor': 'end' }, '0'),
    tick({ x: LEFT, y: LAG_HEIGHT - 6 }, nameOf(versions[0]!)),
    tick({ x: WIDTH - RIGHT, y: LAG_HEIGHT - 6, 'text-anchor': 'end' }, nameOf(versions.at(-1)!)),
  )
}

const cell = (text: string) => h('td', { class: 'number' }, text)
const headOf = (names: readonly string[]) =>
  h(
    'thead',
    {},
    h('tr', {}, ...names.map((name, i) => h('th', { scope: 'col', class: i === 0 ? '' : 'number' }, name))),
  )

function followersTable(followers: readonly FollowerRow[]): HTMLElement {
  const row = ({ name, isSilent, version, behind, lagSeconds, taken, pinned, waiting, updatedAt }: FollowerRow) => {
    const lags = taken.map((one) => one.lagSeconds).sort((a, b) => a - b)
    const half = lags[Math.floor(lags.length / 2)]
    const why = pinned !== null ? t('pinned', { version: pinned }) : (waiting ?? '')
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, name, isSilent ? h('span', { class: 'tag' }, t('silent')) : undefined),
      cell(version),
      cell(number(behind)),
      cell(seconds(lagSeconds)),
      cell(half === undefined ? '' : seconds(half)),
      cell(lags.length === 0 ? '' : seconds(lags.at(-1)!)),
      cell(t('ago', { text: duration(Date.now() - updatedAt) })),
      h('td', {}, why),
    )
  }
  const names = ['server', 'version', 'behind', 'lagNow', 'lagHalf', 'lagMost', 'seen', 'reason'] as const
  return h('table', {}, headOf(names.map((name) => t(name))), h('tbody', {}, ...followers.map(row)))
}

/** The newest first. */
function versionsTable({ versions, followers }: Online): HTMLElement {
  const row = (version: PublishedVersion) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, nameOf(version)),
      cell(number(version.sequence)),
      cell(t(version.kind)),
      cell(when(version.at, languageTag())),
      cell(number(version.rows)),
      cell(number(version.gone)),
      cell(bytes(version.bytes)),
      cell(`${followers.filter(({ sequence }) => sequence >= version.sequence).length} / ${followers.length}`),
    )
  const names = ['version', 'sequence', 'kind', 'publishedAt', 'rowsWord', 'rowsGone', 'size', 'servedBy'] as const
  const newest = versions.toReversed().slice(0, LISTED)
  const table = h('table', {}, headOf(names.map((name) => t(name))), h('tbody', {}, ...newest.map(row)))
  if (newest.length === versions.length) return table
  return h('div', {}, h('p', { class: 'muted' }, t('versionsShown', { shown: LISTED, total: versions.length })), table)
}
