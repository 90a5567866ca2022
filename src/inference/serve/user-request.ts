/** @file Text of a request through the model's own reader.ts: written to a file, as the reader expects it, and read as in training. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isUserError, makeOwnFolder } from '../../base/util/index.ts'
import { createUserSource, joinColumns, type UserReaderOptions } from '../../data/index.ts'
import type { ExportSlot } from '../export/index.ts'
import { badText } from './errors.ts'
import type { ParsedRequest } from './request.ts'

/** The place of a request among files; a reader may look at its name. */
const NAME = 'request'

export function userRequestParser(slots: readonly ExportSlot[], userReader: UserReaderOptions) {
  // The label and whatever else the scores do not need may be missing.
  const optional = slots.map((slot) => ({ ...slot, required: slot.needed ? undefined : false }))
  const open = createUserSource({ slots: optional, userReader })
  return async (body: Uint8Array): Promise<ParsedRequest> => {
    const folder = makeOwnFolder('files')
    const file = join(folder, NAME)
    try {
      writeFileSync(file, body)
      const parts = []
      const ignored = new Set<string>()
      for await (const part of open({ number: 0, place: 0, kind: 'user', file, from: 0, to: body.length })) {
        parts.push(part.columns)
        for (const name of part.ignored) ignored.add(name)
      }
      return { columns: joinColumns(slots, parts), ignored: [...ignored] }
    } catch (error) {
      throw isUserError(error) ? badText(error.message.replaceAll(file, NAME)) : error
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
