/** @file Processes of pods and their token, and strangers in pods of their own. */
import { readFileSync } from 'node:fs'
import { applied, at, cluster, kubectl, logOf, until } from './cluster.testing.ts'

const MINUTE = 60_000
const ATTACKS = ['listen', 'guess', 'rubbish']

export interface PodProcess {
  /** The hash of its OARFISH_JOB_TOKEN. */
  readonly token?: string
  /** Whether a token stands among the words of its command. */
  readonly isTold: boolean
  readonly words: string
}

/** All processes of a pod. What is secret does not leave it. */
export async function processesOf(pod: string): Promise<readonly PodProcess[]> {
  return JSON.parse(await kubectl('exec', pod, '--', 'node', '-e', LOOK))
}

const LOOK = `
  const { readdirSync, readFileSync } = require('node:fs')
  const { createHash } = require('node:crypto')
  const read = (pid, name) => { try { return readFileSync('/proc/' + pid + '/' + name, 'utf8') } catch { return '' } }
  const pids = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && name !== String(process.pid))
  const all = pids.map((pid) => ({ words: read(pid, 'cmdline'), env: read(pid, 'environ').split('\\0') }))
  const of = (env, name) => env.find((line) => line.startsWith(name + '='))?.slice(name.length + 1)
  const tokens = all.flatMap(({ env }) => [of(env, 'OARFISH_JOB_TOKEN'), of(env, 'OARFISH_RUN_TOKEN')]).filter(Boolean)
  const hash = (text) => text && createHash('sha256').update(text).digest('hex')
  console.log(JSON.stringify(all.map(({ words, env }) => ({
    token: hash(of(env, 'OARFISH_JOB_TOKEN')),
    isTold: tokens.some((token) => words.includes(token)),
    words: words.replaceAll('\\0', ' '),
  }))))
`

export interface Stranger {
  readonly nodeName: string
  /** HOST:PORT of the one that is attacked. */
  readonly target: string
  /** At an address of the node itself, as a process outside of all pods has it. */
  readonly hostNetwork?: boolean
  /** Of a job whose token it was given after all. */
  readonly secret?: string
}

export interface Heard {
  readonly heard: string
  readonly in?: number
  readonly open?: number
}

/** Plays the attacker in a pod; resolves to what it has learned by each attack. */
export async function strangerIn(name: string, { nodeName, target, hostNetwork, secret }: Stranger): Promise<Heard[]> {
  const script = readFileSync(at('test/attack/attacker.mjs'), 'utf8')
  await applied({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { 'attacker.mjs': script },
  })
  const given = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: secret, key: 'OARFISH_RUN_TOKEN' } } }
  const attacks = secret ? ['guess'] : ATTACKS
  const runs = attacks.map((each) => `node /tmp/attacker.mjs ${each} ${target}`)
  const container = {
    ...{ name: 'stranger', image: cluster!.image, imagePullPolicy: 'IfNotPresent' },
    command: ['sh', '-c', ['cp /attack/attacker.mjs /tmp', ...runs].join(' && ')], // a link there, which is no program of its own to Node
    env: secret ? [given, { name: 'ATTACK_KNOWS', value: '{"tokens":["$(TOKEN)"]}' }] : [],
    volumeMounts: [{ name: 'attack', mountPath: '/attack' }],
  }
  await applied({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: {
      ...{ nodeName, hostNetwork, restartPolicy: 'Never', containers: [container] },
      volumes: [{ name: 'attack', configMap: { name } }],
    },
  })
  const log = await until(`${name} ended`, 2 * MINUTE, async () => {
    const phase = await kubectl('get', 'pod', name, '-o', 'jsonpath={.status.phase}')
    return (phase === 'Succeeded' || phase === 'Failed') && `${phase}\n${await logOf(name)}`
  })
  const [phase, ...lines] = log.trim().split('\n')
  if (phase !== 'Succeeded' || lines.length !== attacks.length)
    throw new Error(`${name}: ${log}${await kubectl('get', 'pod', name, '-o', 'yaml')}`)
  return lines.map((line) => JSON.parse(line) as Heard)
}
