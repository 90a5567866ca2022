/** @file Paddle's data generators in TypeScript: a reader's samples written as MultiSlot text, for `pipe_command: oarfish reader my_reader.ts`. */
import { once } from 'node:events'
import { UserError } from '../../base/util/index.ts'
import { linesOf } from '../text/long-line.ts'

/** A value of a slot: a number, a whole number beyond 2^53 as bigint. */
export type FieldValue = number | bigint
/** `['click', [0]]`. Names are checked against the first sample; what counts for the model is the order. */
export type Field<Value = FieldValue> = readonly [name: string, values: readonly Value[]]

type Several<T> = Iterable<T> | AsyncIterable<T>

/** What a generator reads and writes: lines without their ends; `write` may be waited for. */
export interface GeneratorIo {
  readonly lines: Several<string>
  readonly write: (text: string) => void | Promise<void>
}

abstract class DataGenerator<Value> {
  #batchSize = 32

  /** Samples that generateBatch is given at a time. @default 32 */
  setBatch(batchSize: number): void {
    this.#batchSize = batchSize
  }

  /**
   * The samples of one line; undefined and null are left out. `line` is undefined under runFromMemory.
   *
   * @example
   * *generateSample(line: string) { yield [['click', [0]], ['1', [737395]]] }
   */
  abstract generateSample(line: string | undefined): Several<readonly Field<Value>[] | undefined | null>

  /** May be overridden to work on several samples at once. */
  generateBatch(samples: readonly (readonly Field<Value>[])[]): Several<readonly Field<Value>[]> {
    return samples
  }

  /** One sample as a line of MultiSlot text. */
  abstract format(sample: readonly Field<Value>[]): string

  /** Turns every line into samples, in order. */
  async run({ lines, write }: GeneratorIo): Promise<void> {
    let batch: (readonly Field<Value>[])[] = []
    const flush = async () => {
      let text = ''
      for await (const sample of this.generateBatch(batch)) text += this.format(sample)
      batch = []
      await write(text)
    }
    for await (const line of lines) {
      for await (const sample of this.generateSample(line)) {
        if (sample === undefined || sample === null) continue
        batch.push(sample)
        if (batch.length >= this.#batchSize) await flush()
      }
    }
    if (batch.length > 0) await flush()
  }

  /** Lines of standard input to standard output: a program of its own for `pipe_command: oarfish exec my_reader.ts`. */
  async runFromStdin(): Promise<void> {
    await this.run({ lines: stdinLines(), write: writeStdout })
  }

  /** Writes the samples of generateSample(undefined), to try a reader out. */
  async runFromMemory(write: GeneratorIo['write']): Promise<void> {
    await this.run({ lines: [undefined as unknown as string], write })
  }
}

/** Numbers, checked: every sample has the fields of the first, in its order, none of them empty. */
export abstract class MultiSlotDataGenerator extends DataGenerator<FieldValue> {
  #names: readonly string[] | undefined

  override format(sample: readonly Field[]): string {
    const fields = fieldsOf(sample, "[['words', [1926, 8, 17]], ['label', [1]]]")
    this.#names ??= fields.map(([name]) => name)
    if (fields.length !== this.#names.length) throw bad('the complete field set of two given line are inconsistent.')
    const texts = fields.map(([name, values], i) => {
      if (typeof name !== 'string') throw bad(`name ${show(name)} must be in str type`)
      if (!Array.isArray(values)) throw bad(`elements ${show(values)} must be in list type`)
      if (values.length === 0)
        throw bad('the elements of each field can not be empty, you need padding it in process().')
      const expected = this.#names![i]!
      if (name !== expected)
        throw bad(`the field name of two given line are not match: require<${expected}>, get<${name}>.`)
      for (const value of values) checkNumber(name, value)
      return `${values.length} ${values.join(' ')}`
    })
    return `${texts.join(' ')}\n`
  }
}

/** Text, written as it is: faster, and nothing is checked. */
export abstract class MultiSlotStringDataGenerator extends DataGenerator<string> {
  override format(sample: readonly Field<string>[]): string {
    const fields = fieldsOf(sample, "[['words', ['1926', '08', '17']], ['label', ['1']]]")
    return `${fields.map(([, values]) => `${values.length} ${values.join(' ')}`).join(' ')}\n`
  }
}

/** Lines of standard input without their ends. */
export const stdinLines = (): AsyncGenerator<string> => linesOf(process.stdin, '-')

/** Waits while the other end is slower. */
export async function writeStdout(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

function fieldsOf<T>(sample: T, example: string): T {
  if (Array.isArray(sample)) return sample
  throw bad(`the output of process() must be in list or tuple type Example: ${example}`)
}

function checkNumber(name: string, value: unknown): void {
  if (typeof value === 'bigint') return
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw bad(`the type of element ${show(value)} must be in int or float`)
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && value > 0 && value < 2 ** 64)
    throw bad(`field "${name}": ${value} is above 2^53: give it as a bigint, or digits are lost`)
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

function bad(message: string): UserError {
  return new UserError(message, { code: 'DATA_GENERATOR' })
}
