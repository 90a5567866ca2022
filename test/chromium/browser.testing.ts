/** @file Debian's chromium for tests: how it is started, and what keeps people out of a page. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'

/** Whether there is one here; where there is none the tests are skipped visibly. */
export const hasChromium = () =>
  spawnSync(process.execPath, ['scripts/chromium-tools.mjs'], { encoding: 'utf8' }).status === 0

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const startChromium = async (): Promise<Browser> =>
  await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS })

/** What keeps people out. */
export async function serious(page: Page): Promise<string[]> {
  // By the debugger: the page's policy refuses scripts that are put into it.
  await page.evaluate(AXE)
  const { violations } = (await page.evaluate(
    `axe.run({ resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa'] })`,
  )) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 120)}`)
}
