/** @file Ways not to reach a cluster: each is an error that names the thing and the fix. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectKube } from './client.ts'
import { refusedError } from './errors.ts'
import { proxyFor } from './kubeconfig.ts'
import { RESOURCES } from './paths.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a kubeconfig', () => {
  test('that is not there, in none of its places', async () => {
    await expect(connectKube({ env: { HOME: folder } })).rejects.toMatchObject({
      code: 'KUBE_CONFIG',
      message: `There is no kubeconfig: KUBECONFIG is not set, there is no ${folder}/.kube/config, and this is not a pod.`,
      hint: expect.stringContaining('export KUBECONFIG='),
    })
    await expect(connectKube({ env: { KUBECONFIG: '/none' } })).rejects.toThrow('There is no /none.')
  })

  test('that is something else', async () => {
    const KUBECONFIG = join(folder, 'config')
    writeFileSync(KUBECONFIG, '[ini]\na=b\n')
    await expect(connectKube({ env: { KUBECONFIG } })).rejects.toMatchObject({
      code: 'KUBE_CONFIG',
      where: { file: KUBECONFIG },
    })
  })

  test('without the context that is asked for, with those that it has', async () => {
    const env = { KUBECONFIG: kubeconfig('https://127.0.0.1:1') }
    await expect(connectKube({ env, context: 'other' })).rejects.toMatchObject({
      code: 'KUBE_CONFIG',
      message: 'The kubeconfig has no context other that leads to a cluster.',
      hint: 'Choose one of own: kubectl config use-context own',
    })
  })

  test('whose plug-in for credentials is not installed', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: '/none/login' }
    const client = await connectKube({ env: { KUBECONFIG: kubeconfig('https://127.0.0.1:1', { exec }) } })
    await expect(client.get('/version')).rejects.toMatchObject({ code: 'KUBE_CONFIG' })
  })
})

describe('a server', () => {
  test('where nothing listens', async () => {
    const client = await connectKube({ env: { KUBECONFIG: kubeconfig('https://127.0.0.1:1') } })
    await expect(client.get('/version')).rejects.toMatchObject({
      code: 'KUBE_UNREACHABLE',
      message: expect.stringContaining('https://127.0.0.1:1 cannot be reached'),
      hint: expect.stringMatching(/^Nothing listens there/),
    })
  })

  test('that is no API server', async () => {
    const answer: RequestListener = (_request, response) => response.writeHead(502).end('<html>gateway</html>')
    await serving(answer, async (url) => {
      const client = await connectKube({ env: { KUBECONFIG: kubeconfig(url) } })
      await expect(client.list(RESOURCES.Pod)).rejects.toMatchObject({
        code: 'KUBE_UNREACHABLE',
        message: `${url} answered 502 to GET /api/v1/namespaces/default/pods: <html>gateway</html>`,
      })
    })
  })

  test('that does not know Volcano', () => {
    const asked = { server: 's', proxy: undefined, request: 'POST /apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs' }
    expect(refusedError(404, '404 page not found\n', asked)).toMatchObject({
      code: 'KUBE_NO_KIND',
      hint: expect.stringMatching(/^Volcano is not installed: install it .* or set submit\.k8s_framework: job/),
    })
  })
})

test.each([
  ['https://a.example:6443', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1'],
  ['https://a.example:6443', { https_proxy: 'http://p:1', NO_PROXY: 'b.example,.example' }, undefined],
  ['https://a.example:6443', { https_proxy: 'http://p:1', NO_PROXY: 'b.example' }, 'http://p:1'],
  ['https://10.1.2.3:6443', { HTTPS_PROXY: 'http://p:1', no_proxy: '10.0.0.0/8' }, undefined],
  ['https://11.1.2.3:6443', { HTTPS_PROXY: 'http://p:1', no_proxy: '10.0.0.0/8' }, 'http://p:1'],
  ['https://127.0.0.1:6443', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['http://a.example:8001', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://a.example', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' }, undefined],
])('%s with %o goes through %s', (server, env, proxy) => {
  expect(proxyFor(server, env)).toBe(proxy)
})

function kubeconfig(server: string, user: object = { token: 't' }): string {
  const file = join(folder, 'config.json')
  const config = {
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'own', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'own',
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}

async function serving(listener: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  server.close()
}
