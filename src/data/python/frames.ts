/** @file What a Python reader sends, frame by frame: a header in JSON and the arrays behind it. Knows nothing of slots. */
import type { ByteSource } from '../text/text-stream.ts'

export type FieldType = 'int64' | 'uint64' | 'float32' | 'float64'

/** One field of the samples of a frame; of records no more than its type, since each says how long its fields are. */
export interface Field {
  readonly dtype: FieldType
  /** Values of each sample; null: `counts` says. */
  readonly width?: number | null
  readonly values?: number
}

export interface SamplesHeader {
  readonly kind: 'samples'
  readonly samples: number
  readonly fields: readonly Field[]
  /** The payload is sample after sample, each of arrays or of lists of numbers; null: field after field. */
  readonly records: 'arrays' | 'lists' | null
  /** Names of a sample's fields that no slot has, each once. */
  readonly ignored: readonly string[]
  /** The reader has asked which rank it is. */
  readonly asked: boolean
}

export interface FailedHeader {
  readonly kind: 'failed'
  /** The number of the sample, from 1; 0: the reader could not be loaded. */
  readonly sample: number
  /** The last line of the traceback. */
  readonly message: string
  readonly traceback: string
  readonly place?: { readonly file: string; readonly line: number } | undefined
  /** A sample that is none: what is wrong with it. */
  readonly refused?: string | null | undefined
  /** The module that an import did not find. */
  readonly missing?: string | null | undefined
  /** numpy is not installed, its stand-in was used. */
  readonly plain: boolean
  readonly python: string
  readonly asked: boolean
}

export type Header = { readonly kind: 'ready' } | { readonly kind: 'end' } | SamplesHeader | FailedHeader

export interface Frame {
  readonly header: Header
  /** Behind the header; valid until the next frame is asked for, and aligned for any number. */
  readonly payload: Uint8Array
}

const PREFIX_BYTES = 8

/** Frames one after another; undefined at the end of what was sent, also where it ends inside a frame. */
export function createFrameReader(source: ByteSource): () => Promise<Frame | undefined> {
  const prefix = new Uint8Array(PREFIX_BYTES)
  const sizes = new DataView(prefix.buffer)
  let area = new Uint8Array(256 * 1024)
  const fill = async (into: Uint8Array): Promise<boolean> => {
    for (let at = 0; at < into.length; ) {
      const bytes = await source.read(at === 0 ? into : into.subarray(at))
      if (bytes === 0) return false
      at += bytes
    }
    return true
  }
  return async () => {
    if (!(await fill(prefix))) return undefined
    const [header, payload] = [sizes.getUint32(0, true), sizes.getUint32(4, true)]
    if (header + payload > area.length) area = new Uint8Array((header + payload) * 2)
    if (!(await fill(area.subarray(0, header + payload)))) return undefined
    const text = Buffer.from(area.buffer, 0, header).toString('utf8')
    return { header: JSON.parse(text) as Header, payload: area.subarray(header, header + payload) }
  }
}
