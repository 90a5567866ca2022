/** @file What is seen, as a file. */
import type uPlot from 'uplot'

export function saveText(name: string, text: string): void {
  save(name, new Blob([text], { type: 'text/csv' }))
}

export function saveChart(name: string, chart: uPlot, title: string): void {
  const from = chart.ctx.canvas
  const ratio = devicePixelRatio
  const canvas = document.createElement('canvas')
  canvas.width = from.width
  canvas.height = from.height + 32 * ratio
  const context = canvas.getContext('2d')!
  const style = getComputedStyle(document.documentElement)
  context.fillStyle = style.getPropertyValue('--card')
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.fillStyle = style.getPropertyValue('--text')
  context.font = `600 ${14 * ratio}px system-ui, sans-serif`
  context.fillText(title, 12 * ratio, 22 * ratio)
  context.drawImage(from, 0, 32 * ratio)
  canvas.toBlob((blob) => blob && save(name, blob))
}

function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob)
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = name
  anchor.click()
  URL.revokeObjectURL(url)
}

/** A cell that begins like a formula is text to every program that opens the file. */
export const csvCell = (value: string | number | null) => {
  const text = value === null ? '' : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
