/** @file `node scripts/terminal.mjs 'COMMAND' < output > picture.svg`: what a terminal showed, as a picture for the documentation. */
import { text } from 'node:stream/consumers'

const [LINE, COLUMN, MARGIN] = [18, 7.83, 16] // pixels; of 13 px letters

const lines = [`$ ${process.argv[2] ?? ''}`, ...(await text(process.stdin)).trimEnd().split('\n')]
const width = Math.ceil(Math.max(...lines.map(({ length }) => length)) * COLUMN) + 2 * MARGIN
const height = lines.length * LINE + 2 * MARGIN
const escaped = (line) => line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const shown = lines.map((line, i) => {
  const y = MARGIN + (i + 1) * LINE - 5
  return `<text x="${MARGIN}" y="${y}"${i === 0 ? ' fill="#7ee787"' : ''}>${escaped(line)}</text>`
})
process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>${escaped(lines[0])}</title>
<rect width="100%" height="100%" rx="6" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6edf3" xml:space="preserve">
${shown.join('\n')}
</g>
</svg>
`)
