/** @file The four command lines of Paddle's quick start, each on a host of its own, with the document's host names. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cleanEnv, watched } from '../fluid/process.testing.ts'
import { type Network, networkTools, openNetwork } from './network.testing.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HOSTS = ['ps0', 'ps1', 'trainer0', 'trainer1'].map((name) => `${name}.paddlepaddle.com`)
const SERVERS = 'PADDLE_PSERVER_IPS=ps0.paddlepaddle.com,ps1.paddlepaddle.com PADDLE_TRAINERS=2'

/** As the document has them. */
const COMMANDS = [
  `PADDLE_TRAINING_ROLE=PSERVER PADDLE_CURRENT_IP=ps0.paddlepaddle.com ${SERVERS} PADDLE_PSERVER_PORT=6174 python fluid_dist.py`,
  `PADDLE_TRAINING_ROLE=PSERVER PADDLE_CURRENT_IP=ps1.paddlepaddle.com ${SERVERS} PADDLE_PSERVER_PORT=6174 python fluid_dist.py`,
  `PADDLE_TRAINING_ROLE=TRAINER ${SERVERS} PADDLE_TRAINER_ID=0 PADDLE_PSERVER_PORT=6174 python fluid_dist.py`,
  `PADDLE_TRAINING_ROLE=TRAINER ${SERVERS} PADDLE_TRAINER_ID=1 PADDLE_PSERVER_PORT=6174 python fluid_dist.py`,
]

const lacking = networkTools()
if (lacking !== undefined) console.warn(`netns is skipped: ${lacking}`)

const seeds = process.env['OARFISH_SEEDS']
test.skipIf(seeds === undefined)('the command lines are those of the document', () => {
  const text = readFileSync(join(seeds!, '002_41ec4dbffd46bd7b.txt'), 'utf8')
  for (const command of COMMANDS) expect(text).toContain(command)
})

describe.skipIf(lacking !== undefined)('netns: fluid_dist on four hosts', () => {
  let network: Network
  beforeAll(async () => {
    network = await openNetwork({ name: 'fluiddist', hosts: 4 })
    const names = network.hosts.map(({ address }, i) => `${address} ${HOSTS[i]}`)
    for (const { name } of network.hosts) {
      mkdirSync(`/etc/netns/${name}`, { recursive: true })
      writeFileSync(`/etc/netns/${name}/hosts`, `127.0.0.1 localhost\n${names.join('\n')}\n`)
    }
  })
  afterAll(() => {
    for (const { name } of network?.hosts ?? []) rmSync(`/etc/netns/${name}`, { recursive: true, force: true })
    network?.close()
  })

  test('two servers and two trainers train one model, whoever comes first, and all end', async () => {
    const oarfish = `${process.execPath} ${join(ROOT, 'bin/oarfish.js')}`
    const start = (i: number) => {
      const command = COMMANDS[i]!.replace('python fluid_dist.py', `exec ${oarfish} exec fluid_dist.ts`)
      const options = { cwd: join(ROOT, 'examples/fit_a_line'), env: cleanEnv() }
      // exec keeps assignments before it only as exports do.
      return watched(network.hosts[i]!.spawn('sh', ['-c', `export ${command.replace(' exec ', '; exec ')}`], options))
    }
    const started = [2, 0, 3, 1].map(start)
    const codes = await Promise.all(started.map(({ ended }) => ended))
    expect(codes, started.map(({ out, err }) => out.slice(-500) + err).join('\n---\n')).toEqual([0, 0, 0, 0])
    const losses = (out: string) =>
      [...out.matchAll(/^Epoch: (\d+), Batch: \d+, loss: ([\d.]+)$/gm)].map(
        ([, epoch, loss]) => [epoch, Number(loss)] as const,
      )
    for (const { out } of [started[0]!, started[2]!]) {
      const seen = losses(out)
      const meanOf = (epoch: string) => {
        const own = seen.filter(([e]) => e === epoch).map(([, loss]) => loss)
        return own.reduce((sum, loss) => sum + loss, 0) / own.length
      }
      expect(meanOf('29')).toBeLessThan(meanOf('0') / 2)
    }
  })
})
