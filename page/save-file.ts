/** @file What is seen, as a file. */
import type uPlot from 'uplot'

const [TITLE, LINE, MARGIN] = [32, 18, 12] // pixels

export interface Key {
  readonly name: string
  readonly color: string
}

export function saveCsv(name: string, rows: readonly (readonly (string | number | null | undefined)[])[]): void {
  const lines = rows.map((row) => row.map((value) => csvCell(value ?? null)).join(','))
  save(`${name}.csv`, new Blob([[...lines, ''].join('\n')], { type: 'text/csv' }))
}

/** With its title above and what its lines are below. */
export function saveChart(title: string, chart: uPlot, keys: readonly Key[]): void {
  const from = chart.ctx.canvas
  const ratio = devicePixelRatio
  const rows = inRows(keys, from.width / ratio - 2 * MARGIN)
  const paper = paperOf(title, { width: from.width / ratio, height: from.height / ratio + rows.length * LINE }, ratio)
  paper.context.drawImage(from, 0, TITLE, from.width / ratio, from.height / ratio)
  rows.forEach((row, i) => {
    for (const { name, color, x } of row) {
      const y = TITLE + from.height / ratio + i * LINE
      paper.context.fillStyle = color
      paper.context.fillRect(MARGIN + x, y + 4, 10, 3)
      paper.context.fillStyle = paper.ink
      paper.context.fillText(name, MARGIN + x + 14, y + 9)
    }
  })
  paper.save()
}

/** A picture brings its styles along: in a file there is no page around it. */
export async function savePicture(title: string, picture: SVGElement): Promise<void> {
  const size = { width: Number(picture.getAttribute('width')), height: Number(picture.getAttribute('height')) }
  const copy = picture.cloneNode(true) as SVGElement
  const [own, copied] = [[...picture.querySelectorAll('*')], [...copy.querySelectorAll('*')]]
  for (const [i, element] of own.entries()) {
    const style = getComputedStyle(element)
    for (const name of STYLES) copied[i]!.setAttribute(name, style.getPropertyValue(name))
  }
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`
  await image.decode()
  const paper = paperOf(title, size, Math.max(2, devicePixelRatio))
  paper.context.drawImage(image, 0, TITLE, size.width, size.height)
  paper.save()
}

const STYLES = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-opacity',
  'stroke-dasharray',
  'paint-order',
  'font-family',
  'font-size',
  'font-weight',
  'text-anchor',
]

interface Size {
  readonly width: number
  readonly height: number
}

/** As the page looks, with a title; measured in the page's pixels. */
function paperOf(title: string, { width, height }: Size, ratio: number) {
  const canvas = document.createElement('canvas')
  canvas.width = width * ratio
  canvas.height = (height + TITLE) * ratio
  const context = canvas.getContext('2d')!
  context.scale(ratio, ratio)
  const style = getComputedStyle(document.documentElement)
  const ink = style.getPropertyValue('--text')
  context.fillStyle = style.getPropertyValue('--card')
  context.fillRect(0, 0, width, height + TITLE)
  context.fillStyle = ink
  context.font = '600 14px system-ui, sans-serif'
  context.fillText(title, MARGIN, 22)
  context.font = '12px system-ui, sans-serif'
  return { context, ink, save: () => canvas.toBlob((blob) => blob && save(`${title}.png`, blob)) }
}

/** About as wide as their letters. */
function inRows(keys: readonly Key[], width: number): readonly (readonly (Key & { readonly x: number })[])[] {
  const rows: (Key & { readonly x: number })[][] = []
  let x = Number.POSITIVE_INFINITY
  for (const key of keys) {
    const own = 28 + key.name.length * 7
    if (x + own > width) {
      rows.push([])
      x = 0
    }
    rows.at(-1)!.push({ ...key, x })
    x += own
  }
  return rows
}

function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob)
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = name.replaceAll(/[/\\:]+/g, '-')
  anchor.click()
  // Not at once: the browser still has to take it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** A cell that begins like a formula is text to every program that opens the file. */
function csvCell(value: string | number | null): string {
  const text = value === null ? '' : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
