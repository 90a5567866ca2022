/** @file A job as a picture: its processes, what travels between them, and who waits for whom. */
import type { LinkRow, ProcessRow } from '../src/jobs/dashboard/api.ts'
import { svg } from './dom.ts'
import { bytes, number } from './text.ts'
import { t } from './words.ts'

const [CELL, BOX, ROW] = [164, 144, 190]
/** With more links than this their numbers are told when one points at them. */
const MOST_LABELS = 12
const WAITS = 0.2
const STATE_COLORS: Readonly<Record<string, string>> = {
  running: 'var(--blue)',
  done: 'var(--green)',
  stopped: 'var(--muted)',
  failed: 'var(--red)',
  died: 'var(--red)',
  silent: 'var(--orange)',
}

interface Ends {
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
}

/** Trainers above, servers below, a line from each to each; ranks in a row. */
export function jobPicture(processes: readonly ProcessRow[]): SVGElement {
  const servers = processes.filter(({ role }) => role === 'server')
  const trainers = processes.filter(({ role }) => role !== 'server' && role !== 'launcher')
  const width = Math.max(280, Math.max(servers.length, trainers.length) * CELL + 24)
  const place = (i: number, count: number) => (width - count * CELL) / 2 + i * CELL + CELL / 2
  const pairs =
    servers.length > 0
      ? trainers.flatMap((from, i) =>
          servers.map((to, k) => {
            const ends = { x1: place(i, trainers.length), y1: 66, x2: place(k, servers.length), y2: ROW + 10 }
            return { from, to, ends, part: (k + 1) / (servers.length + 1) }
          }),
        )
      : trainers.slice(1).map((to, i) => {
          const [x1, x2] = [place(i, trainers.length) + BOX / 2, place(i + 1, trainers.length) - BOX / 2]
          return { from: trainers[i]!, to, ends: { x1, y1: 38, x2, y2: 38 }, part: 0.5 }
        })
  const most = Math.max(1, ...trainers.flatMap(({ links }) => links.map(traffic)))
  const isLabelled = servers.length > 0 && pairs.length <= MOST_LABELS
  const drawn = pairs.map(({ from, to, ends, part }) =>
    linkOf(from, to, ends, { most, part: isLabelled ? part : undefined }),
  )
  const boxes = [
    ...trainers.map((one, i) => node(one, place(i, trainers.length), 10)),
    ...servers.map((one, i) => node(one, place(i, servers.length), ROW + 10)),
  ]
  const label = processes.map(({ name, state }) => `${name} ${t(state)}`).join(', ')
  return svg(
    'svg',
    { width, height: servers.length > 0 ? ROW + 80 : 90, role: 'img', 'aria-label': label },
    ...drawn.flatMap(({ line }) => line),
    ...drawn.flatMap(({ text }) => text),
    ...boxes,
  )
}

const traffic = ({ sentBytesPerSecond, receivedBytesPerSecond }: LinkRow) => sentBytesPerSecond + receivedBytesPerSecond

/** Each label at its own height, so that those of one worker do not lie on each other. */
function linkOf(
  from: ProcessRow,
  to: ProcessRow,
  ends: Ends,
  { most, part }: { readonly most: number; readonly part: number | undefined },
) {
  const link = from.links.find((one) => one.to === to.name) ?? (to.role === 'server' ? undefined : from.links[0])
  const isAwaited = waitsOf(from).some(({ whom }) => whom === to.name)
  const thickness = link ? 1 + 3 * (traffic(link) / most) : 1
  const title = link && svg('title', {}, titleOf(from.name, to.name, link))
  const line = svg(
    'line',
    { ...ends, class: isAwaited ? 'link awaited' : 'link', 'stroke-width': thickness },
    ...(title ? [title] : []),
  )
  if (!link || part === undefined) return { line: [line], text: [] }
  const at = 0.25 + part / 2
  const [x, y] = [ends.x1 + (ends.x2 - ends.x1) * at, ends.y1 + (ends.y2 - ends.y1) * at]
  const text = svg('text', { x, y, class: 'link-rate', 'text-anchor': 'middle' }, `${megabytes(traffic(link))} MB/s`)
  return { line: [line], text: [text] }
}

const megabytes = (rate: number) => number(Number((rate / 1e6).toPrecision(3)))
const milliseconds = (seconds: number) => number(Number((1000 * seconds).toPrecision(3)))

const titleOf = (from: string, to: string, link: LinkRow) =>
  t('linkTitle', {
    from,
    to,
    sent: bytes(link.sentBytesPerSecond),
    received: bytes(link.receivedBytesPerSecond),
    ms: milliseconds(link.answerSeconds),
  })

/** For whom a process waits, with the share of its time: at most as long as it spends on looking up and pushing, and as a request was under way there. */
function waitsOf({ name, links, parts }: ProcessRow): readonly { who: string; whom: string; share: number }[] {
  const all = Object.values(parts).reduce((sum, one) => sum + one, 0)
  const remote = all > 0 ? ((parts['lookup'] ?? 0) + (parts['push'] ?? 0)) / all : 1
  return links
    .map(({ to, busy }) => ({ who: name, whom: to, share: Math.min(busy, remote) }))
    .filter(({ share }) => share >= WAITS)
}

/** The longest first. */
export function waitLines(processes: readonly ProcessRow[]): readonly string[] {
  return processes
    .flatMap(waitsOf)
    .sort((a, b) => b.share - a.share)
    .slice(0, 5)
    .map(({ who, whom, share }) => t('waitsFor', { who, whom, share: Math.round(100 * share) }))
}

function node({ name, state, samplesPerSecond, waiting, memory, role, tables }: ProcessRow, x: number, y: number) {
  const rows = tables.reduce((sum, own) => sum + own.memoryRows + own.diskRows, 0)
  const facts =
    role === 'server'
      ? [bytes(memory), rows > 0 ? `${number(rows)} ${t('rowsWord')}` : '']
      : [
          samplesPerSecond === undefined ? '' : `${number(Math.round(samplesPerSecond))}/s`,
          waiting !== undefined && waiting > 0.05 ? `${t('wait')} ${Math.round(100 * waiting)} %` : '',
        ]
  return svg(
    'g',
    {},
    svg('rect', { x: x - BOX / 2, y, width: BOX, height: 56, rx: 8, class: 'node' }),
    svg('circle', { cx: x - BOX / 2 + 14, cy: y + 18, r: 4, fill: STATE_COLORS[state] }),
    svg('text', { x: x - BOX / 2 + 24, y: y + 22, class: 'node-name' }, name),
    svg('text', { x: x - BOX / 2 + 12, y: y + 43, class: 'tick' }, facts.filter(Boolean).join(' · ') || t(state)),
  )
}
