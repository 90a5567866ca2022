/** @file The dashboard in a real browser: with a keyboard alone, for axe, in the dark, on a phone, with names that are scripts, with records that are damaged. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runPaths, sweepFile } from '../../src/base/runs/index.ts'
import { writeFollower, writeRun } from '../../src/jobs/dashboard/example-run.testing.ts'
import { type Dashboard, openDashboard } from '../../src/jobs/dashboard/index.ts'
import { hasChromium, serious, startChromium } from './browser.testing.ts'

const EVIL = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
describe.skipIf(!hasChromium())('chromium', () => {
  let folder: string
  let browser: Browser
  let dashboard: Dashboard
  const complaints: string[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'oarfish-chromium-'))
    for (const i of [0, 1, 2]) writeRun(join(folder, `runs/sweep-${i}`), { rows: 300, learningRate: 10 ** -i })
    writeRun(join(folder, 'runs/job'), { rows: 3000, workers: 3, state: 'running' })
    writeRun(join(folder, 'runs/evil'), { rows: 50, name: EVIL, text: EVIL, state: 'failed' })
    writeRun(join(folder, 'runs/online'), { rows: 60, versions: 12, state: 'running' })
    writeFollower(join(folder, 'runs/online'), 'host-1:8080', 12)
    writeFollower(join(folder, 'runs/online'), EVIL, 12, 2)
    appendFileSync(runPaths(join(folder, 'runs/sweep-0')).eventFile('local'), 'nonsense\n{}\n')
    dashboard = await openDashboard({ folders: [folder], version: '0.1.0', port: 0 })
    browser = await startChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await dashboard?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(hash = '', options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ locale: 'en-US', ...options })
    const page = await context.newPage()
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(`${dashboard.url}${hash}`)
    await page.waitForSelector('body[data-ready]')
    return page
  }
  const listed = async () => {
    const { runs } = (await (await fetch(`${dashboard.url}api/runs`)).json()) as {
      runs: { id: string; name: string }[]
    }
    return runs
  }
  const openRun = async (name: string, query = '', options: BrowserContextOptions = {}) => {
    const idOf = async () => (await listed()).find((run) => run.name === name)?.id
    await expect.poll(idOf).toBeDefined() // new ones are looked for every two seconds
    return await open(`#/run/${await idOf()}${query}`, options)
  }
  const close = (page: Page) => page.context().close()

  test('with the keyboard alone: filter, sort, open a run, go through its tabs, zoom, and back', async () => {
    const page = await open()
    const tabTo = async (selector: string) => {
      for (let i = 0; i < 60; i++) {
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`the keyboard does not reach ${selector}`)
    }
    await tabTo('.search')
    await page.keyboard.type('sweep')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(3)
    await tabTo('[data-sort="hyper_parameters.optimizer.learning_rate"]')
    await page.keyboard.press('Enter')
    expect(await page.locator('tbody th').allTextContents()).toEqual(['sweep-2', 'sweep-1', 'sweep-0'])
    expect(page.url()).toContain('q=sweep')
    await tabTo('tbody a')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.chart canvas')
    await tabTo('[role=tab]')
    for (const name of ['Weights', 'Time', 'Job', 'Epochs', 'Logs', 'Settings']) {
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => page.locator('[aria-selected=true]').textContent()).toBe(name)
    }
    await page.keyboard.press('ArrowRight')
    await tabTo('.plot')
    await page.keyboard.press('+')
    await expect.poll(() => page.url()).toContain('range=')
    await page.keyboard.press('0')
    await expect.poll(() => page.url()).not.toContain('range=')
    await close(page)
  })

  test.each([
    [
      'light',
      ['table', 'curves', 'parallel', 'compare'],
      ['overview', 'inside', 'time', 'job', 'epochs', 'logs', 'config'],
    ],
    ['dark', ['table'], ['overview', 'job']],
  ] as const)('axe finds nothing serious in the %s', async (colorScheme, ofRuns, ofRun) => {
    const check = async (page: Page, names: readonly string[]) => {
      for (const name of names) {
        await page.locator(`#tab-${name}`).click()
        await page.locator(`#tab-${name}[aria-selected=true]`).waitFor()
        expect([name, await serious(page)]).toEqual([name, []])
      }
      await close(page)
    }
    await check(await open('', { colorScheme }), ofRuns)
    await check(await openRun('job', '', { colorScheme }), ofRun)
  })

  test('dark is dark, and what one chooses stays', async () => {
    const page = await open('', { colorScheme: 'dark' })
    const brightness = async () =>
      Number(/\d+/.exec(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'))![0])
    expect(await brightness()).toBeLessThan(40)
    await page.getByLabel('Light or dark').click()
    expect(await brightness()).toBeGreaterThan(200)
    await page.reload()
    expect(await brightness()).toBeGreaterThan(200)
    await close(page)
  })

  test('at 360 pixels nothing is wider than the screen', async () => {
    const viewport = { width: 360, height: 740 }
    for (const page of [
      await open('', { viewport }),
      await openRun('job', '', { viewport }),
      await openRun('job', '?tab=time', { viewport }),
      await openRun('job', '?tab=job', { viewport }),
    ]) {
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
      await close(page)
    }
  })

  test('scripts in a name, a setting, a warning and a log line are text', async () => {
    const list = await open('#/?tab=compare')
    await list.getByText(EVIL).first().waitFor()
    await close(list)
    for (const tab of ['overview', 'job', 'logs', 'config']) {
      const page = await openRun(EVIL, `?tab=${tab}`)
      await page.getByText(EVIL).first().waitFor()
      if (tab === 'logs') await page.getByText(`line 1000 ${EVIL}`).waitFor()
      expect(await page.locator('img').count()).toBe(0)
      expect(await page.title()).toBe('Oarfish')
      await close(page)
    }
  })

  test('a job is drawn with what travels and who waits for whom; norms, staleness and tables by level have curves', async () => {
    const page = await openRun('job', '?tab=job')
    const rates = page.locator('svg .link-rate')
    await rates.nth(2).waitFor()
    expect(await rates.allTextContents()).toEqual(['5.5 MB/s', '4.3 MB/s', '3.9 MB/s'])
    await page.getByText('worker-2 waits for server-0 38 % of its time').waitFor()
    expect(await page.locator('svg .awaited').count()).toBe(2)
    expect(await page.locator('tbody tr', { hasText: 'worker-1' }).first().textContent()).toMatch(/1\.2.*412 MB/)
    await page.locator('tbody tr', { hasText: 'embedding' }).getByText('410,000').waitFor()
    await page.locator('#tab-inside').click()
    await page.locator('.chart canvas').first().waitFor()
    const titles = await page.locator('.chart:visible h3').allTextContents()
    expect(titles).toContain('Norm of dense gradients')
    expect(titles).toContain('Staleness, steps')
    expect(titles).toContain('embedding: rows on disk')
    await close(page)
  })

  test('a sweep is live: what is done, the best so far, and which runs went on', async () => {
    const sweep = join(folder, 'halved')
    const rungs = [
      { epochs: 1, runs: 2 },
      { epochs: 2, runs: 1 },
    ]
    const made = (name: string, state: 'running' | 'done') =>
      writeRun(join(sweep, 'runs', name), { rows: 30, state, learningRate: 0.5 })
    made('run-000', 'running')
    const set = ['hyper_parameters.optimizer.learning_rate=0.5,0.1']
    writeFileSync(sweepFile(sweep), JSON.stringify({ strategy: 'halving', set, rungs }))
    const page = await open('#/?q=halved')
    const card = page.locator('.sweep')
    await card.getByText('1 of 3 trainings done').waitFor()
    expect(await card.locator('tbody tr').allTextContents()).toEqual(['run-000●running 75 %0.73000.5'])
    made('run-001', 'done')
    await card.getByText('3 of 3 trainings done').waitFor()
    await card.getByRole('link', { name: 'run-001' }).first().waitFor()
    expect(await serious(page)).toEqual([])
    await page.getByLabel('Group by').selectOption('sweep')
    await page.locator('.group', { hasText: '/halved (2)' }).waitFor()
    await close(page)
    rmSync(sweep, { recursive: true })
  })

  test('what is seen is saved: the table and a curve as CSV, a picture as PNG with its lines', async () => {
    const saved = async (page: Page, name: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByLabel(name).first().click()])
      return { file: download.suggestedFilename(), bytes: readFileSync(await download.path()) }
    }
    const list = await open('#/?q=sweep-&columns=state,hyper_parameters.optimizer.learning_rate')
    expect(await list.locator('thead th').allTextContents()).toEqual(['', 'Name', 'State', 'learning_rate'])
    const { file, bytes } = await saved(list, 'Save Runs as CSV')
    expect([file, String(bytes).split('\n').sort()]).toEqual([
      'Runs.csv',
      [
        '',
        'name,state,hyper_parameters.optimizer.learning_rate',
        ...[1, 0.1, 0.01].map((rate, i) => `sweep-${i},done,${rate}`),
      ],
    ])
    await close(list)
    const page = await openRun('job')
    const curve = await saved(page, 'Save loss as CSV')
    expect(String(curve.bytes).split('\n')[1]).toMatch(/^worker-0,10,0\.6/)
    expect((await saved(page, 'Save loss as PNG')).bytes.subarray(1, 4).toString()).toBe('PNG')
    await page.locator('#tab-job').click()
    const picture = await saved(page, 'Save Who works with whom as PNG')
    // Drawn, not an empty sheet: as many colours as boxes, links and words have.
    const colours = await page.evaluate(`(async () => {
      const image = new Image()
      image.src = 'data:image/png;base64,${picture.bytes.toString('base64')}'
      await image.decode()
      const canvas = document.createElement('canvas')
      canvas.width = image.width
      canvas.height = image.height
      const context = canvas.getContext('2d')
      context.drawImage(image, 0, 0)
      return new Set(new Uint32Array(context.getImageData(0, 50, image.width, image.height - 50).data.buffer)).size
    })()`)
    expect(colours).toBeGreaterThan(20)
    await close(page)
  })

  test('online training: bases and deltas on a line of time, when servers that follow had them, reached by keys', async () => {
    const page = await openRun('online', '?tab=epochs')
    await page.locator('#tab-epochs').focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => page.locator('[aria-selected=true]').textContent()).toBe('Online')
    await page.getByLabel('1 bases and 11 deltas on a line of time, 2 servers follow').waitFor()
    expect(await page.locator('.version.base').count()).toBe(1)
    expect(await page.locator('.version.delta').count()).toBe(11)
    expect(await page.locator('circle.taken').count()).toBe(11 + 9)
    await page.getByText('a version is damaged').waitFor()
    await page.getByText(EVIL).first().waitFor()
    const region = page.getByRole('region', { name: 'Servers that follow', exact: true })
    await region.focus()
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Servers that follow')
    expect(await serious(page)).toEqual([])
    await close(page)
    const phone = await openRun('online', '?tab=online', { viewport: { width: 360, height: 740 } })
    expect(await phone.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await close(phone)
    const other = await openRun('sweep-1')
    expect(await other.locator('#tab-online').count()).toBe(0)
    await close(other)
  })

  test('damaged records are counted and said, and the points that are shown too', async () => {
    const damaged = await openRun('sweep-0')
    await damaged.getByText('2 records of this run are damaged').waitFor()
    await close(damaged)
    const page = await openRun('job')
    await page
      .getByText(/of 9,000 points/)
      .first()
      .waitFor()
    await close(page)
  })

  test('a link opens the same view; a running run is followed; a run that is deleted is said to be gone', async () => {
    writeRun(join(folder, 'runs/short'), { rows: 20, state: 'running' })
    const page = await openRun('short', '?x=time&smooth=0.5&tab=epochs')
    expect(await page.locator('[aria-selected=true]').textContent()).toBe('Epochs')
    await page.getByText('running').first().waitFor()
    writeRun(join(folder, 'runs/short'), { rows: 20, state: 'failed' })
    await page.getByText('failed').first().waitFor()
    rmSync(join(folder, 'runs/short'), { recursive: true })
    await page.getByText('This run is gone').waitFor()
    await close(page)
    const ids = (await listed()).filter(({ name }) => name.startsWith('sweep')).map(({ id }) => id)
    const compared = await open(`#/?tab=curves&runs=${ids.join(',')}`)
    await compared.locator('.chart .legend').getByText('sweep-2').first().waitFor()
    await close(compared)
  })

  test('in Chinese every word is', async () => {
    const page = await open('', { locale: 'zh-CN' })
    expect(await page.locator('h1').textContent()).toBe('运行')
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN')
    await close(page)
  })

  test('the browser had nothing to complain about', () => {
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })
})
