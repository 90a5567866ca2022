/**
 * @file TensorBoard's event files, which VisualDL's users can open too: scalars of every printed batch and of every epoch, histograms of predictions, the
 * configuration and what was said as text. A record is a length, its checksum, a protobuf message `Event` and its checksum.
 */
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { CalibrationPart, Event } from '../event/index.ts'
import { AppendFile } from './append-file.ts'
import { TrainedCount } from './trained-count.ts'

type Wire = typeof import('@bufbuild/protobuf/wire')

/** Types of a field's bytes, as protobuf numbers them. */
const WireType = { Varint: 0, Bit64: 1, LengthDelimited: 2, Bit32: 5 } as const

export async function openTensorBoardFile(
  folder: string,
  onFailure: (error: Error) => void,
): Promise<TensorBoardWriter> {
  return new TensorBoardWriter(await import('@bufbuild/protobuf/wire'), folder, onFailure)
}

export class TensorBoardWriter {
  readonly #wire: Wire
  readonly #file: AppendFile
  readonly #trained = new TrainedCount()

  constructor(wire: Wire, folder: string, onFailure: (error: Error) => void) {
    this.#wire = wire
    mkdirSync(folder, { recursive: true })
    const seconds = String(Math.floor(Date.now() / 1000)).padStart(10, '0')
    this.#file = new AppendFile(join(folder, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}`), onFailure)
    this.#write(this.#message(Date.now(), 0, (event) => event.tag(3, WireType.LengthDelimited).string('brain.Event:2')))
  }

  add(event: Event, atMs: number): void {
    this.#trained.add(event)
    if (event.kind === 'start') this.#text('settings', settingsText(event.settings), atMs)
    if (event.kind === 'warning' || event.kind === 'notice') this.#text(event.kind, event.message, atMs)
    if (event.kind === 'batch' && event.phase === 'train') {
      const { metrics, samplesPerSecond, readerSecondsPerBatch } = event
      const rates = {
        'speed/samples_per_second': samplesPerSecond,
        'speed/reader_seconds_per_batch': readerSecondsPerBatch,
      }
      this.#scalars({ ...named('train', metrics), ...rates }, this.#trained.total.batches, atMs)
    }
    if (event.kind === 'epoch') {
      const group = event.phase === 'train' ? 'epoch' : 'test'
      this.#scalars(named(group, event.metrics), event.epoch, atMs)
      for (const [name, parts] of Object.entries(event.calibration ?? {}))
        this.#histogram(`${group}/predictions of ${name}`, parts, event.epoch, atMs)
    }
  }

  #scalars(values: Readonly<Record<string, number>>, step: number, atMs: number): void {
    this.#summary(step, atMs, (summary) => {
      for (const [tag, value] of Object.entries(values))
        summary
          .tag(1, WireType.LengthDelimited)
          .fork()
          .tag(1, WireType.LengthDelimited)
          .string(tag)
          .tag(2, WireType.Bit32)
          .float(value)
          .join()
    })
  }

  /** How predictions are spread. */
  #histogram(tag: string, parts: readonly CalibrationPart[], step: number, atMs: number): void {
    if (parts.length === 0) return
    const sum = (of: (part: CalibrationPart) => number) => parts.reduce((all, part) => all + of(part), 0)
    const samples = sum((part) => part.samples)
    this.#summary(step, atMs, (summary) => {
      const value = summary.tag(1, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(tag)
      const histogram = value.tag(5, WireType.LengthDelimited).fork()
      const moments = [0, parts.at(-1)!.to, samples, sum((part) => part.samples * part.predicted)]
      for (const [i, moment] of [...moments, sum((part) => part.samples * part.predicted ** 2)].entries())
        histogram.tag(i + 1, WireType.Bit64).double(moment)
      for (const [field, of] of [[6, 'to'] as const, [7, 'samples'] as const]) {
        const list = histogram.tag(field, WireType.LengthDelimited).fork()
        for (const part of parts) list.double(part[of])
        list.join()
      }
      histogram.join()
      value.join()
    })
  }

  /** A tensor of one text, for the plug-in of that name. */
  #text(tag: string, text: string, atMs: number): void {
    this.#summary(this.#trained.total.batches, atMs, (summary) => {
      const value = summary.tag(1, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(tag)
      const DT_STRING = 7
      value.tag(8, WireType.LengthDelimited).fork().tag(1, WireType.Varint).int32(DT_STRING)
      value
        .tag(2, WireType.LengthDelimited)
        .fork()
        .tag(2, WireType.LengthDelimited)
        .fork()
        .tag(1, WireType.Varint)
        .int64(1)
        .join()
        .join()
      value.tag(8, WireType.LengthDelimited).string(text).join()
      value
        .tag(9, WireType.LengthDelimited)
        .fork()
        .tag(1, WireType.LengthDelimited)
        .fork()
        .tag(1, WireType.LengthDelimited)
        .string('text')
        .join()
        .join()
        .join()
    })
  }

  #summary(step: number, atMs: number, fill: (summary: BinaryWriter) => void): void {
    this.#write(
      this.#message(atMs, step, (event) => {
        const summary = event.tag(5, WireType.LengthDelimited).fork()
        fill(summary)
        summary.join()
      }),
    )
  }

  #message(atMs: number, step: number, fill: (event: BinaryWriter) => void): Uint8Array {
    const event = new this.#wire.BinaryWriter().tag(1, WireType.Bit64).double(atMs / 1000)
    fill(event.tag(2, WireType.Varint).int64(step))
    return event.finish()
  }

  #write(bytes: Uint8Array): void {
    const head = Buffer.alloc(12)
    head.writeBigUInt64LE(BigInt(bytes.length), 0)
    head.writeUInt32LE(masked(head.subarray(0, 8)), 8)
    const tail = Buffer.alloc(4)
    tail.writeUInt32LE(masked(bytes), 0)
    this.#file.add(Buffer.concat([head, bytes, tail]))
  }

  close(): void {
    this.#file.close()
  }
}

const named = (group: string, values: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${group}/${name}`, value]))

/** A table of Markdown, which the plug-in shows as one. */
const settingsText = (settings: Readonly<Record<string, unknown>>) =>
  [
    '| key | value |',
    '| --- | --- |',
    ...Object.entries(settings).map(
      ([key, value]) => `| ${key} | ${typeof value === 'object' ? JSON.stringify(value) : value} |`,
    ),
  ].join('\n')

/** CRC-32C, turned as TensorFlow turns it, so that checksums of what holds checksums are none of zeros. */
function masked(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 0xff]!
  crc = (crc ^ 0xffffffff) >>> 0
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

const CASTAGNOLI = 0x82f63b78
const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ CASTAGNOLI : value >>> 1
  return value
})
