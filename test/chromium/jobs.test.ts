/** @file The page of a job server in a real browser: signing in, jobs and their logs, stopping and submitting again, keys, for axe and on a phone. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeRun } from '../../src/jobs/dashboard/example-run.testing.ts'
import { writeStatus } from '../../src/jobs/executors/job-folder.ts'
import { openPageServer, type PageServer } from '../submit/job-page.testing.ts'
import { hasChromium, serious, startChromium } from './browser.testing.ts'

const EVIL = '<img src=x onerror="document.title=1">'
const LASTING = `echo '${EVIL}'; until test -e go; do sleep 0.05; done`

describe.skipIf(!hasChromium())('chromium', () => {
  let server: PageServer
  let browser: Browser
  let done: string
  let failed: string
  let running: string
  let waiting: string
  beforeAll(async () => {
    server = await openPageServer()
    const file = join(server.dir, '..', 'config.yaml')
    writeFileSync(file, 'runner: {}')
    done = await server.submit('alice', { name: 'finished', permission: 'group', remark: EVIL }, [file])
    await server.phase('alice', done, 'succeeded')
    failed = await server.submit('alice', { name: 'broken', command: 'echo no such column >&2; exit 3' })
    await server.phase('alice', failed, 'failed')
    running = await server.submit('alice', { name: 'lasting', command: LASTING })
    await server.phase('alice', running, 'running')
    waiting = await server.submit('alice', { name: 'second', priority: 'normal' }) // one at a time, on this host
    writeRun(join(server.dir, 'jobs', done, 'work/node-0/runs/first'), { rows: 200, workers: 2 })
    browser = await startChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  async function open(hash = '', user: 'alice' | 'eve' = 'alice', width = 1280): Promise<Page> {
    const context = await browser.newContext({ locale: 'en-US', viewport: { width, height: 800 } })
    const page = await context.newPage()
    await page.goto(`${server.url}/${hash}`)
    await page.getByLabel('Access key').fill(server.keys[user].ak)
    await page.getByLabel('Secret key').fill(server.keys[user].sk)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    return page
  }
  const close = (page: Page) => page.context().close()

  test('wrong keys are refused in words; signed in, one sees jobs with state, priority, place in the queue and reason', async () => {
    const context = await browser.newContext({ locale: 'en-US' })
    const stranger = await context.newPage()
    await stranger.goto(server.url)
    await stranger.getByLabel('Access key').fill('nobody')
    await stranger.getByLabel('Secret key').fill('nothing')
    await stranger.getByRole('button', { name: 'Sign in' }).click()
    await stranger.getByText('These keys are not known here').waitFor()
    expect(await serious(stranger)).toEqual([])
    await context.close()
    const page = await open()
    await page.locator('tbody tr').nth(3).waitFor()
    const rows = await page.locator('tbody tr').allTextContents()
    expect(rows).toHaveLength(4)
    expect(rows[0]).toMatch(/second.*queued place 1 in the queue.*alice.*ctr.*normal/)
    expect(rows[2]).toMatch(/broken.*failed.*exit code 3/)
    expect(await serious(page)).toEqual([])
    await page.getByLabel('Filter jobs').fill('finished')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    await page.reload() // the session is the browser's
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await close(page)
  })

  test('a job shows its log as it grows and after its death, its files, its runs with curves, and no script runs', async () => {
    const page = await open(`#/job/${running}`)
    await page.getByText(EVIL).first().waitFor()
    writeFileSync(join(server.dir, 'jobs', running, 'logs/trainer.0.log'), 'one more line\n', { flag: 'a' })
    await page.getByText('one more line').waitFor()
    expect(await serious(page)).toEqual([])
    await page.goto(`${server.url}/#/job/${failed}`)
    await page.getByText('no such column').first().waitFor()
    await page.goto(`${server.url}/#/job/${done}?tab=files`)
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('config.yaml').click()])
    expect(download.suggestedFilename()).toBe('config.yaml')
    await page.locator('#tab-curves').click()
    await page.getByRole('link', { name: 'first' }).click()
    await page.waitForSelector('.chart canvas')
    expect(page.url()).toContain(`#/job/${done}/run/`)
    expect([await page.locator('img').count(), await page.title()]).toEqual([0, 'Oarfish'])
    await close(page)
  })

  test('pods of a job on Kubernetes come with their events', async () => {
    const event = { at: 1, type: 'Warning', reason: 'FailedScheduling', message: 'no node has 64 cores', count: 3 }
    const processes = [{ role: 'trainer', rank: 0, phase: 'queued', pod: 'ctr-trainer-0', events: [event] }] as const
    writeStatus(join(server.dir, 'jobs', running), { phase: 'running', processes })
    const page = await open(`#/job/${running}?tab=processes`)
    await page.getByText('no node has 64 cores (×3)').waitFor()
    await page.getByText('ctr-trainer-0').waitFor()
    await close(page)
  })

  test('stop, start and submit again ask once more, then do it', async () => {
    const page = await open(`#/job/${waiting}`)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Really?' }).click()
    await server.phase('alice', waiting, 'stopped')
    await page.getByRole('button', { name: 'Start again' }).click()
    await page.getByRole('button', { name: 'Really?' }).click()
    await expect.poll(() => page.url()).not.toContain(waiting)
    await page.getByText('place 1 in the queue').waitFor()
    const again = /job-[0-9a-f]+/.exec(page.url())![0]
    await page.goto(`${server.url}/#/job/${running}`)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Really?' }).click()
    await server.phase('alice', running, 'stopped')
    await server.phase('alice', again, 'succeeded')
    await page.goto(`${server.url}/#/job/${done}`)
    await page.getByRole('button', { name: 'Submit again' }).click()
    await page.getByRole('button', { name: 'Really?' }).click()
    await expect.poll(() => page.url()).not.toContain(done)
    await server.phase('alice', /job-[0-9a-f]+/.exec(page.url())![0], 'succeeded')
    await close(page)
  })

  test("another group's user sees none of it, their own account, and new keys once; at 360 pixels nothing is wider", async () => {
    const page = await open('', 'eve', 360)
    await page.getByText('No jobs yet').waitFor()
    await page.goto(`${server.url}/#/job/${done}`)
    await page.getByText('you may not see it').waitFor()
    await page.getByRole('link', { name: 'eve' }).click()
    await page.getByText('0 / 2').waitFor()
    expect(await page.getByText('ctr').count()).toBe(0)
    expect(await serious(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await page.getByRole('button', { name: 'Make new keys' }).click()
    await page.getByRole('button', { name: 'Really?' }).click()
    await page.locator('#new-sk').waitFor()
    expect((await page.locator('#new-sk').textContent())!.length).toBe(64)
    await page.reload()
    await page.getByText('Access key').first().waitFor()
    expect(await page.locator('#new-sk').count()).toBe(0)
    await close(page)
  })
})
