/** @file A journal: records that are on the disk when append() resolves, read back in order after any kind of end. */
import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { writePrivate } from '../../base/fs/index.ts'
import { UserError } from '../../base/util/index.ts'

export interface Journal<T> {
  /** Resolves when the record will survive a power cut; records of one turn share a write. */
  append(record: T): Promise<void>
  close(): Promise<void>
}

export interface OpenedJournal<T> {
  readonly records: readonly T[]
  readonly journal: Journal<T>
}

/** Opens or creates. A last line that was cut off in the middle was never promised to anybody and is removed. */
export async function openJournal<T>(path: string): Promise<OpenedJournal<T>> {
  const file = await open(path, 'a+', 0o600)
  try {
    const { records, bytes } = await wholeRecords<T>(file, path)
    return { records, journal: journalOf(file, bytes) }
  } catch (error) {
    await file.close() // newer Node ends a process that leaves it to the garbage collector
    throw error
  }
}

async function wholeRecords<T>(file: FileHandle, path: string) {
  const text = await file.readFile('utf8')
  const whole = text.lastIndexOf('\n') + 1
  const lines = text.slice(0, whole).split('\n').slice(0, -1)
  const good = lines.findIndex((line) => parse(line) === undefined)
  if (good >= 0 && good < lines.length - 1) throw damaged(path, good + 1)
  const kept = good < 0 ? lines : lines.slice(0, good)
  const bytes = Buffer.byteLength(kept.map((line) => `${line}\n`).join(''))
  await file.truncate(bytes)
  return { records: kept.map((line) => parse(line) as T), bytes }
}

/** Puts other records in the place of all there are; nobody may have the journal open. */
export async function rewriteJournal(path: string, records: readonly unknown[]): Promise<void> {
  await writePrivate(path, records.map(lineOf).join(''))
}

function journalOf<T>(file: FileHandle, start: number): Journal<T> {
  let bytes = start
  let waiting: { line: string; done: () => void; fail: (error: unknown) => void }[] = []
  let writing: Promise<void> | undefined
  const write = async () => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      const data = Buffer.from(batch.map(({ line }) => line).join(''))
      try {
        await file.appendFile(data)
        await file.datasync()
        bytes += data.length
        for (const { done } of batch) done()
      } catch (error) {
        // A full disk may have taken half of it: what is not promised must not be found later.
        await file.truncate(bytes).catch(() => undefined)
        for (const { fail } of batch) fail(error)
      }
    }
    writing = undefined
  }
  return {
    append: (record) =>
      new Promise((done, fail) => {
        waiting.push({ line: lineOf(record), done, fail })
        writing ??= Promise.resolve().then(write)
      }),
    close: async () => {
      await writing
      await file.close()
    },
  }
}

function lineOf(record: unknown): string {
  const text = JSON.stringify(record)
  return `${checksum(text)} ${text}\n`
}

function parse(line: string): unknown {
  const text = line.slice(9)
  return line.slice(0, 8) === checksum(text) ? JSON.parse(text) : undefined
}

const checksum = (text: string) => crc32(text).toString(16).padStart(8, '0')

function damaged(path: string, line: number): UserError {
  return new UserError(`${path}: line ${line} is damaged, and more follows it.`, {
    code: 'CLOUD_STORE_DAMAGED',
    hint: 'The disk or somebody changed it. Restore it from a backup, or remove that line and what depends on it.',
    where: { file: path, line },
  })
}
