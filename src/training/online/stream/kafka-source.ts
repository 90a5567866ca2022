/** @file A topic of Kafka as a stream: places are offsets, which this side keeps; the group on the broker is told them for those who watch it. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { Env } from '../../../base/env/index.ts'
import { createFile, type WriteFile } from '../../../base/fs/index.ts'
import { UserError } from '../../../base/util/index.ts'
import type { KafkaAddress } from './address.ts'
import { type Parts, type Positions, type Reach, type StreamSource, shares } from './source.ts'

/** Of one attempt; whoever waits for the broker tries again. */
const ANSWER_MS = 10_000
const COORDINATOR_ATTEMPTS = 30
/** Reading stands still for so long: the broker is gone, or another consumer of the group has partitions. */
const SILENT_MS = 30_000

export async function openKafka(address: KafkaAddress, env: Env): Promise<StreamSource> {
  // Loaded where a stream is read alone.
  const { Kafka, logLevel } = await import('kafkajs')
  const { brokers, tls, sasl } = address
  const login = { username: env['OARFISH_KAFKA_USERNAME'] ?? '', password: env['OARFISH_KAFKA_PASSWORD'] ?? '' }
  const client = new Kafka({
    ...{ clientId: 'oarfish', brokers: [...brokers], ssl: tls, logLevel: logLevel.NOTHING },
    ...(sasl && { sasl: { mechanism: sasl, ...login } as never }),
    ...{ connectionTimeout: ANSWER_MS, requestTimeout: 3 * ANSWER_MS, retry: { retries: 2 } },
  })
  return new KafkaSource(client, address)
}

/** What of a partition is being read. */
interface Part {
  next: number
  readonly to: number
  file?: WriteFile
}

class KafkaSource implements StreamSource {
  readonly unit = 'records'
  readonly #client: Kafka
  readonly #address: KafkaAddress
  #admin: Admin | undefined
  #consumer: Consumer | undefined
  #reading: Reading | undefined

  constructor(client: Kafka, address: KafkaAddress) {
    this.#client = client
    this.#address = address
  }

  async start(): Promise<Positions> {
    const { topic, group, from } = this.#address
    return await this.#askAgain(async (admin) => {
      const ends = await admin.fetchTopicOffsets(topic)
      if (from === 'latest') return placesOf(ends.map(({ partition, high }) => [partition, high]))
      const low = placesOf(ends.map(({ partition, low }) => [partition, low]))
      if (from === 'earliest') return low
      const [committed] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
      const known = (committed?.partitions ?? []).filter(({ offset }) => Number(offset) >= 0)
      return { ...low, ...placesOf(known.map(({ partition, offset }) => [partition, offset])) }
    })
  }

  async look(from: Positions, most: number): Promise<Reach> {
    const ends = await this.#ask((admin) => admin.fetchTopicOffsets(this.#address.topic))
    const partitions = ends.map(({ partition, low, high }) => {
      const [first, end] = [Number(low), Number(high)]
      const wanted = from[partition] ?? first
      return { partition, wanted, begin: Math.max(wanted, first), end }
    })
    const taken = shares(partitions.map(({ begin, end }) => Math.max(0, end - begin)), most) // biome-ignore format: one line
    const records = taken.reduce((sum, count) => sum + count, 0)
    const all = partitions.reduce((sum, { begin, end }) => sum + Math.max(0, end - begin), 0)
    const gone = partitions.reduce((sum, { wanted, begin }) => sum + begin - wanted, 0)
    const back = partitions.find(({ begin, end }) => begin > end)
    if (back) throw anotherTopic(this.#address, back.partition, back.begin, back.end)
    return {
      parts: Object.fromEntries(
        partitions.flatMap(({ partition, begin }, i) =>
          taken[i]! > 0 ? [[String(partition), [begin, begin + taken[i]!] as const]] : [],
        ),
      ),
      ...{ records, rest: all - records },
      warning: gone > 0 ? `${gone} records were removed by the broker before they were trained` : undefined,
    }
  }

  async write(wanted: Parts, folder: string): Promise<void> {
    const parts = new Map<number, Part>()
    for (const [partition, [next, to]] of Object.entries(wanted)) parts.set(Number(partition), { next, to })
    if (parts.size === 0) return
    await this.#checkThere(parts)
    const reading = new Reading(parts, folder)
    try {
      const consumer = await this.#consumerOf()
      this.#reading = reading
      const { topic } = this.#address
      for (const [partition, { next }] of parts) consumer.seek({ topic, partition, offset: String(next) })
      consumer.resume([{ topic, partitions: [...parts.keys()] }])
      await reading.done()
    } catch (error) {
      await this.#leave()
      throw reached(error, this.#address)
    } finally {
      this.#reading = undefined
      await reading.close()
    }
  }

  async commit(to: Positions): Promise<void> {
    const { topic } = this.#address
    const places = Object.entries(to).map(([partition, offset]) => ({ topic, partition: Number(partition), offset: String(offset) })) // biome-ignore format: one line
    await this.#consumer?.commitOffsets(places)
  }

  async close(): Promise<void> {
    await this.#leave()
    await this.#admin?.disconnect().catch(() => undefined)
  }

  /** What is to be read again may be gone meanwhile. */
  async #checkThere(parts: ReadonlyMap<number, Part>): Promise<void> {
    const { topic } = this.#address
    const ends = await this.#ask((admin) => admin.fetchTopicOffsets(topic))
    for (const { partition, low } of ends) {
      const part = parts.get(partition)
      if (part && part.next < Number(low)) throw gone(this.#address, partition, part.next, Number(low))
    }
  }

  /** A broker that has just started does not know its groups for some seconds. */
  async #askAgain<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#ask(question)
      } catch (error) {
        const { type = '', name = '' } = ((error as Error).cause ?? {}) as { readonly type?: string; name?: string }
        const isYoung = /COORDINATOR|LOAD_IN_PROGRESS/.test(type) || name === 'KafkaJSGroupCoordinatorNotFound'
        if (!isYoung || attempt === COORDINATOR_ATTEMPTS) throw error
        await sleep(1000)
      }
    }
  }

  async #ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    try {
      if (!this.#admin) {
        const admin = this.#client.admin()
        await admin.connect()
        this.#admin = admin
      }
      return await question(this.#admin)
    } catch (error) {
      await this.#admin?.disconnect().catch(() => undefined)
      this.#admin = undefined
      throw reached(error, this.#address)
    }
  }

  /** In the group for as long as the job runs: to join takes seconds. All partitions pause until something is wanted of them. */
  async #consumerOf(): Promise<Consumer> {
    if (this.#consumer) return this.#consumer
    const { topic, group } = this.#address
    const consumer = this.#client.consumer({ groupId: group, allowAutoTopicCreation: false, maxWaitTimeInMs: 200 })
    this.#consumer = consumer
    const joined = new Promise<void>((resolve, reject) => {
      consumer.on(consumer.events.GROUP_JOIN, () => resolve())
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        reject(payload.error)
        this.#reading?.fail(payload.error)
      })
    })
    joined.catch(() => undefined)
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: 4,
      eachBatch: (batch) => this.#take(batch),
    })
    const late = sleep(SILENT_MS).then(() => Promise.reject(new Error('the group could not be joined')))
    await Promise.race([joined, late])
    late.catch(() => undefined)
    return consumer
  }

  async #take({ batch, isStale, pause, heartbeat }: EachBatchPayload): Promise<void> {
    const reading = this.#reading
    if (isStale()) return
    if (!reading?.wants(batch.partition)) return void pause()
    await reading.take(batch)
    await heartbeat()
    if (!reading.wants(batch.partition)) pause()
  }

  async #leave(): Promise<void> {
    const consumer = this.#consumer
    this.#consumer = undefined
    await consumer?.disconnect().catch(() => undefined)
  }
}

/** Ranges of partitions on their way into files. */
class Reading {
  readonly #parts: ReadonlyMap<number, Part>
  readonly #folder: string
  #failure: Error | undefined
  #movedAt = performance.now()

  constructor(parts: ReadonlyMap<number, Part>, folder: string) {
    this.#parts = parts
    this.#folder = folder
  }

  wants(partition: number): boolean {
    const part = this.#parts.get(partition)
    return part !== undefined && part.next < part.to
  }

  fail(error: Error): void {
    this.#failure = error
  }

  /** Records that came before, in a batch that came twice, are left out. */
  async take(batch: EachBatchPayload['batch']): Promise<void> {
    const part = this.#parts.get(batch.partition)!
    part.file ??= await createFile(join(this.#folder, `part-${String(batch.partition).padStart(5, '0')}`))
    const lines: Buffer[] = []
    for (const { offset, value } of batch.messages) {
      const place = Number(offset)
      if (place < part.next || place >= part.to) continue
      part.next = place + 1
      if (value && value.length > 0) lines.push(value, NEWLINE)
    }
    if (lines.length > 0) await part.file.write(Buffer.concat(lines))
    // Behind the last there may be places without a record: of transactions, or compacted away.
    part.next = Math.max(part.next, Math.min(part.to, Number(batch.lastOffset()) + 1))
    this.#movedAt = performance.now()
  }

  async done(): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure
      if ([...this.#parts.values()].every(({ next, to }) => next >= to)) return
      if (performance.now() - this.#movedAt > SILENT_MS) throw new Error(`no record came for ${SILENT_MS / 1000} s; another consumer of the group may have the partitions`) // biome-ignore format: one line
      await sleep(20)
    }
  }

  async close(): Promise<void> {
    for (const { file } of this.#parts.values()) await file?.close()
  }
}

const NEWLINE = Buffer.from('\n')

const placesOf = (entries: readonly (readonly [number, number | string])[]): Positions =>
  Object.fromEntries(entries.map(([partition, offset]) => [String(partition), Number(offset)]))

function reached(error: unknown, { brokers, topic }: KafkaAddress): Error {
  if (error instanceof UserError) return error
  const { type, message } = error as { readonly type?: string; readonly message: string }
  if (type === 'UNKNOWN_TOPIC_OR_PARTITION')
    return new UserError(`the topic ${topic} is not on ${brokers.join(', ')}`, {
      code: 'STREAM_UNREACHABLE',
      hint: 'create it, or mend runner.train_data_dir; it is waited for',
      cause: error,
    })
  return new UserError(`Kafka at ${brokers.join(', ')} cannot be read: ${message}`, {
    code: 'STREAM_UNREACHABLE',
    hint: 'it is tried again until the broker answers; nothing is lost meanwhile',
    cause: error,
  })
}

const gone = ({ topic }: KafkaAddress, partition: number, wanted: number, low: number) =>
  new UserError(
    `partition ${partition} of ${topic} begins at ${low}: the records from ${wanted} on, which are to be trained again, are gone`,
    {
      code: 'STREAM_GONE',
      hint: 'let the broker keep records for longer than it takes to the next checkpoint (retention.ms, checkpoint_per_pass); to go on without them, remove the last lines of stream.jsonl',
    },
  )

const anotherTopic = ({ topic }: KafkaAddress, partition: number, place: number, end: number) =>
  new UserError(
    `partition ${partition} of ${topic} ends at ${end}, before ${place}, up to which it is trained: this is another topic of that name`,
    {
      code: 'STREAM_GONE',
      hint: 'name the topic that was trained, or begin anew in another runner.model_save_path',
    },
  )
