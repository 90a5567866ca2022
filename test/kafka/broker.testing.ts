/** @file One real broker of Kafka on this machine, started and stopped by tests; its jars lie in OARFISH_KAFKA_LIB. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '../ports.testing.ts'

export const LIB = process.env['OARFISH_KAFKA_LIB']
const START_MS = 120_000

export class Broker {
  readonly address: string
  readonly #folder: string
  #process: ChildProcess | undefined

  private constructor(folder: string, port: number) {
    this.#folder = folder
    this.address = `127.0.0.1:${port}`
  }

  static async open(folder: string): Promise<Broker> {
    const [port, controller] = (await freePorts(2)) as [number, number]
    const broker = new Broker(folder, port)
    const settings = {
      'process.roles': 'broker,controller',
      'node.id': 1,
      'controller.quorum.voters': `1@127.0.0.1:${controller}`,
      listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
      'advertised.listeners': broker.address.replace(/^/, 'PLAINTEXT://'),
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      'controller.listener.names': 'CONTROLLER',
      'log.dirs': join(folder, 'log'),
      'offsets.topic.replication.factor': 1,
      'offsets.topic.num.partitions': 1,
      'transaction.state.log.replication.factor': 1,
      'transaction.state.log.min.isr': 1,
      'group.initial.rebalance.delay.ms': 0,
    }
    const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`)
    writeFileSync(join(folder, 'server.properties'), lines.join(''))
    const id = 'b2FyZmlzaC1rYWZrYS10ZQ'
    const format = spawnSync('java', broker.#java('kafka.tools.StorageTool', 'format', '-t', id, '-c'), {
      encoding: 'utf8',
    })
    if (format.status !== 0) throw new Error(`Kafka's storage was not made: ${format.stdout}${format.stderr}`)
    await broker.start()
    return broker
  }

  async start(): Promise<void> {
    const child = spawn('java', this.#java('kafka.Kafka'), { stdio: 'ignore' })
    this.#process = child
    for (const until = Date.now() + START_MS; ; await sleep(200)) {
      if (child.exitCode !== null) throw new Error(`the broker ended with ${child.exitCode}`)
      if (await answers(this.address)) return
      if (Date.now() > until) throw new Error('the broker did not start')
    }
  }

  /** Without a farewell, as a machine that loses its power. */
  async stop(): Promise<void> {
    const child = this.#process
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  #java(main: string, ...words: string[]): string[] {
    return ['-Xmx256m', '-cp', `${LIB}/*`, main, ...words, join(this.#folder, 'server.properties')]
  }
}

function answers(address: string): Promise<boolean> {
  const [host, port] = address.split(':') as [string, string]
  return new Promise((resolve) => {
    const socket = connect(Number(port), host)
    socket.once('connect', () => resolve(socket.destroy() !== undefined))
    socket.once('error', () => resolve(false))
  })
}
