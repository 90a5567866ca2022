/** @file `kafka://host:port,host:port/topic?group=...` as parts. */
import { UserError } from '../../../base/util/index.ts'

export const STARTS = ['group', 'earliest', 'latest'] as const
export const SASL = ['plain', 'scram-sha-256', 'scram-sha-512'] as const

export interface KafkaAddress {
  readonly brokers: readonly string[]
  readonly topic: string
  readonly group: string
  /** Where a job without a place of its own begins: behind what the group has committed, else at the first record. */
  readonly from: (typeof STARTS)[number]
  readonly tls: boolean
  readonly sasl?: (typeof SASL)[number] | undefined
}

export const isKafka = (path: string | undefined): boolean => path?.startsWith('kafka://') ?? false

const KEYS = ['group', 'from', 'tls', 'sasl']

export function parseKafka(text: string): KafkaAddress {
  const [, hosts = '', topic = '', query = ''] = /^kafka:\/\/([^/?]+)\/([^/?]+)(?:\?(.*))?$/.exec(text) ?? []
  const options = new URLSearchParams(query)
  const wrong = (what: string) =>
    new UserError(`runner.train_data_dir: ${text}: ${what}`, {
      code: 'STREAM_ADDRESS',
      hint: 'write it as kafka://host:9092/topic?group=NAME; brokers are separated by commas, see docs/guide/online-training.md',
    })
  const brokers = hosts.split(',')
  const noPort = brokers.find((host) => !/^[^@]+:\d+$/.test(host))
  if (noPort === undefined && topic === '') throw wrong('a topic is missing')
  if (noPort?.includes('@'))
    throw wrong(
      'a password does not belong here: set OARFISH_KAFKA_USERNAME and OARFISH_KAFKA_PASSWORD, and ?sasl=plain',
    )
  if (noPort !== undefined) throw wrong(`${noPort || 'a broker'} has no port`)
  const unknown = [...options.keys()].find((key) => !KEYS.includes(key))
  if (unknown !== undefined) throw wrong(`${unknown} is not one of ${KEYS.join(', ')}`)
  const group = options.get('group') ?? ''
  if (group === '') throw wrong('group is missing')
  const from = chosen(options.get('from') ?? 'group', STARTS)
  if (!from) throw wrong(`from is one of ${STARTS.join(', ')}`)
  const sasl = options.has('sasl') ? chosen(options.get('sasl')!, SASL) : undefined
  if (options.has('sasl') && !sasl) throw wrong(`sasl is one of ${SASL.join(', ')}`)
  return { brokers, topic: decodeURIComponent(topic), group, from, tls: options.get('tls') === 'true', sasl }
}

const chosen = <T extends string>(value: string, of: readonly T[]): T | undefined => of.find((one) => one === value)
