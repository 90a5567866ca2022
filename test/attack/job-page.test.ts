/** @file Attacks on the page of a job server: jobs of others, forged sessions, requests of other pages, links in a job's folder, guessing. */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hmac, sha256, signedHeaders } from '../../page/sign.ts'
import { writeRun } from '../../src/jobs/dashboard/example-run.testing.ts'
import { AttemptLimit, Sessions } from '../../src/jobs/server/sessions.ts'
import { type Ask, asker, openPageServer, type PageServer, signedIn, signIn } from '../submit/job-page.testing.ts'

const EVIL = '<img src=x onerror=alert(1)>'
const LASTING = 'echo begun; until test -e go; do sleep 0.05; done'

let server: PageServer
/** Of alice: open to her group, and to nobody. */
let [shared, own] = ['', '']
let [alice, bob, eve, chief]: Ask[] = []

beforeAll(async () => {
  server = await openPageServer()
  const file = join(server.dir, '..', 'input.txt')
  writeFileSync(file, 'the input')
  shared = await server.submit('alice', { name: 'open', permission: 'group', remark: EVIL, command: 'echo said' }, [
    file,
  ])
  await server.phase('alice', shared, 'succeeded')
  own = await server.submit('alice', { name: 'own', command: LASTING })
  await server.phase('alice', own, 'running')
  writeRun(join(server.dir, 'jobs', shared, 'work/node-0/runs/first'), { rows: 20 })
  const { keys } = server
  ;[alice, bob, eve, chief] = await Promise.all(
    [keys.alice, keys.bob, keys.eve, keys.chief].map((one) => signedIn(server, one)),
  )
})
afterAll(async () => {
  await alice!('POST', `/page/jobs/${own}/stop`)
  await server.phase('alice', own, 'stopped')
  await server.close()
})

test('the page signs as the server checks', () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 1000]) {
    const [key, bytes] = [randomBytes(length), randomBytes(length)]
    expect(Buffer.from(sha256(bytes))).toEqual(createHash('sha256').update(bytes).digest())
    expect(Buffer.from(hmac(key, bytes))).toEqual(createHmac('sha256', key).update(bytes).digest())
  }
})

test('who is not signed in gets the page and nothing else, forged cookies included', async () => {
  const cookie = (await signIn(server, server.keys.alice)).cookie
  expect(cookie).toMatch(/^oarfish_jobs_\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/)
  const [name, id] = cookie.split(';')[0]!.split('=') as [string, string]
  const forged = [
    '',
    `${name}=`,
    `${name}=alice`,
    `${name}=${id.slice(0, -1)}`,
    `${name}=${randomBytes(32).toString('base64url')}`,
    `other=${id}`,
  ]
  for (const one of forged)
    for (const path of [
      'me',
      'jobs',
      `jobs/${shared}`,
      `jobs/${shared}/logs/trainer.0`,
      `jobs/${shared}/files/input.txt`,
      'live/',
      `jobs/${shared}/api/runs`,
    ])
      expect([path, (await asker(server, one)('GET', `/page/${path}`)).status]).toEqual([path, 401])
  const page = await asker(server)('GET', '/')
  expect([page.status, page.text.includes('alice')]).toEqual([200, false])
})

test('jobs of others are not there; the group sees what is open to it and changes nothing; an administrator sees all', async () => {
  const get = (ask: Ask, path: string) => ask('GET', `/page/jobs/${path}`)
  const paths = ['', '/logs/trainer.0', '/logs/job', '/files/input.txt', '/api/runs', '/api/live/']
  for (const path of paths) expect((await get(eve!, `${shared}${path}`)).status).toBe(404)
  for (const path of ['', '/logs/trainer.0', '/api/runs']) expect((await get(bob!, `${own}${path}`)).status).toBe(404)
  expect((await eve!('GET', `/page/live/${shared}`)).status).toBe(404)
  expect(JSON.parse((await eve!('GET', '/page/jobs')).text).jobs).toEqual([])
  expect((await eve!('GET', '/page/me')).text).not.toContain('ctr')
  expect(JSON.parse((await bob!('GET', '/page/jobs')).text).jobs.map((job: { name: string }) => job.name)).toEqual([
    'open',
  ])
  expect((await get(bob!, `${shared}/logs/trainer.0`)).text).toContain('said')
  expect((await get(bob!, `${shared}/files/input.txt`)).text).toBe('the input')
  expect((await chief!('GET', '/page/jobs')).text).toContain(own)
  for (const act of ['stop', 'again']) {
    expect((await eve!('POST', `/page/jobs/${own}/${act}`)).status).toBe(404)
    expect((await bob!('POST', `/page/jobs/${shared}/${act}`)).status).toBe(403)
  }
  // It would run as the administrator's, with their rights.
  expect((await chief!('POST', `/page/jobs/${shared}/again`)).status).toBe(403)
})

test('a request that another page makes is refused, whatever cookie comes with it', async () => {
  const path = `/page/jobs/${own}/stop`
  const page = { 'x-oarfish-page': '1' }
  const foreign = [
    {},
    { 'content-type': 'text/plain' },
    { ...page, origin: 'https://evil.example' },
    { ...page, origin: 'null' },
    { ...page, 'sec-fetch-site': 'cross-site' },
    { ...page, 'sec-fetch-site': 'same-site' },
  ]
  for (const headers of foreign) expect([headers, (await alice!('POST', path, headers)).status]).toEqual([headers, 403])
  expect((await alice!('GET', path)).status).toBe(404)
  expect((await alice!('GET', '/page/me', { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  const preflight = await asker(server)('OPTIONS', path, {
    origin: 'https://evil.example',
    'access-control-request-method': 'POST',
  })
  expect(preflight.status).toBe(403)
  expect(JSON.parse((await alice!('GET', `/page/jobs/${own}`)).text).row.phase).toBe('running')
})

test('links that a job leaves in its folder lead nowhere, in the page and in the logs that clients read', async () => {
  const [secret, folder] = [join(server.dir, 'secret.log'), join(server.dir, 'jobs', own)]
  writeFileSync(secret, 'the secret')
  symlinkSync(secret, join(folder, 'logs/link.0.log'))
  linkSync(secret, join(folder, 'logs/hard.0.log'))
  mkdirSync(join(folder, 'work/node-0/runs'), { recursive: true })
  symlinkSync(join(server.dir, 'jobs', shared, 'work/node-0/runs/first'), join(folder, 'work/node-0/runs/taken'))
  const forged = join(folder, 'work/node-0/runs/forged')
  writeRun(forged, { rows: 5 })
  rmSync(join(forged, 'events'), { recursive: true })
  symlinkSync(join(server.dir, 'jobs', shared, 'work/node-0/runs/first/events'), join(forged, 'events'))
  for (const name of ['link.0', 'hard.0', '..%2f..%2f..%2fsecret', '..%2f..%2fjob'])
    expect([name, (await alice!('GET', `/page/jobs/${own}/logs/${name}`)).status]).toEqual([name, 404])
  const runs = async () =>
    JSON.parse((await alice!('GET', `/page/jobs/${own}/api/runs`)).text).runs as { id: string; name: string }[]
  // New ones are looked for every two seconds.
  await expect.poll(async () => (await runs()).map(({ name }) => name)).toEqual(['forged'])
  const { id } = (await runs())[0]!
  const detail = JSON.parse((await alice!('GET', `/page/jobs/${own}/api/runs/${id}`)).text)
  expect([detail.messages, detail.epochs]).toEqual([[], []])
  expect((await alice!('GET', `/page/jobs/${own}/api/runs/${id}/logs/local`)).status).toBe(404)
  const path = `/v1/jobs/${own}/logs`
  const answer = await fetch(`${server.url}${path}`, { headers: signedHeaders('GET', path, server.keys.alice) })
  const text = await answer.text()
  expect([text.includes('begun'), text.includes('the secret')]).toEqual([true, false])
  rmSync(join(folder, 'logs/link.0.log'))
  rmSync(join(folder, 'logs/hard.0.log'))
})

test('a name that is a script is refused, a remark that is one comes as JSON that no browser takes for a page', async () => {
  await expect(server.submit('alice', { name: EVIL })).rejects.toThrow(/not described well: name/)
  const response = await fetch(`${server.url}/page/jobs/${shared}`, { headers: { cookie: await cookieOf('alice') } })
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  expect(((await response.json()) as { row: { remark: string } }).row.remark).toBe(EVIL)
  const file = await fetch(`${server.url}/page/jobs/${shared}/files/input.txt`, {
    headers: { cookie: await cookieOf('alice') },
  })
  expect(file.headers.get('content-disposition')).toBe('attachment')
  expect(file.headers.get('content-security-policy')).toContain('sandbox')
})

const cookieOf = async (user: 'alice') => (await signIn(server, server.keys[user])).cookie.split(';')[0]!

test('new keys end all sessions of the old ones but that which asked, and signing out ends a session', async () => {
  const [one, other] = [await signIn(server, server.keys.eve), await signedIn(server, server.keys.eve)]
  const rotated = await asker(server, one.cookie.split(';')[0])('POST', '/page/keys')
  const keys = JSON.parse(rotated.text) as { ak: string; sk: string }
  const next = asker(server, rotated.cookie.split(';')[0])
  expect((await other('GET', '/page/me')).status).toBe(401)
  expect((await asker(server, one.cookie.split(';')[0])('GET', '/page/me')).status).toBe(401)
  expect((await next('GET', '/page/me')).text).toContain(keys.ak)
  expect((await signIn(server, server.keys.eve)).status).toBe(401)
  await next('POST', '/page/sign-out')
  expect((await next('GET', '/page/me')).status).toBe(401)
})

test('sessions end after twelve hours, and a user has twenty at most', () => {
  let now = 0
  const sessions = new Sessions(() => now)
  const [first, ...others] = Array.from({ length: 21 }, () => sessions.open('alice', 'ak'))
  expect([sessions.of(first!.id), sessions.of(others[0]!.id)?.user]).toEqual([undefined, 'alice'])
  now += 12 * 60 * 60_000 + 1
  expect(sessions.of(others[0]!.id)).toBeUndefined()
})

test('who guesses is told the same of a wrong key and a wrong secret, cannot send a request twice, and is not listened to after ten', async () => {
  const headers = { 'x-oarfish-page': '1', ...signedHeaders('POST', '/page/sign-in', server.keys.bob) }
  expect((await asker(server)('POST', '/page/sign-in', headers)).status).toBe(200)
  const wrong = [
    await asker(server)('POST', '/page/sign-in', headers),
    await signIn(server, { ak: server.keys.bob.ak, sk: 'x' }),
    await signIn(server, { ak: 'x', sk: 'x' }),
  ]
  expect(new Set(wrong.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect(wrong[0]!.status).toBe(401)
  let last = wrong[0]!
  for (let i = 0; i < 10 && last.status === 401; i++) last = await signIn(server, { ak: 'x', sk: 'x' })
  expect(last.status).toBe(429)
  expect((await signIn(server, server.keys.bob)).status).toBe(429)
  expect((await bob!('GET', '/page/me')).status).toBe(200)
})

test('attempts are counted by address and minute, of IPv6 by network', () => {
  let now = 0
  const limit = new AttemptLimit(() => now)
  for (let i = 0; i < 10; i++) limit.fail(`2001:db8:1:2:${i}::1`)
  expect([limit.isOver('2001:db8:1:2:ffff::9'), limit.isOver('2001:db8:1:3::1'), limit.isOver('10.0.0.1')]).toEqual([
    true,
    false,
    false,
  ])
  now += 60_001
  expect(limit.isOver('2001:db8:1:2::1')).toBe(false)
})
