/** @file The dashboard's page from page/ and uPlot: one file without anything to load, dist/page/index.html. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { rolldown } from 'rolldown'
import { at } from './setup.mjs'

/** Written by `page()`, relative to dist/. */
export const PAGE_FILE = 'page/index.html'

export async function page() {
  const build = await rolldown({ input: at('page', 'main.ts'), platform: 'browser' })
  const { output } = await build.generate({ format: 'esm', minify: true, sourcemap: false })
  await build.close()
  const style = [at('node_modules', 'uplot/dist/uPlot.min.css'), at('page', 'style.css')]
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
  const html = readFileSync(at('page', 'index.html'), 'utf8')
    .replace('<!--style-->', () => style)
    // What ends a script inside a text would end it here.
    .replace('<!--script-->', () => output[0].code.replaceAll('</script', '<\\/script'))
  mkdirSync(dirname(at('dist', PAGE_FILE)), { recursive: true })
  writeFileSync(at('dist', PAGE_FILE), html)
}
