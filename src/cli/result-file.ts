/** @file train_result_dict.txt in the working folder, as static_ps_trainer leaves it there: speed and AUC of each epoch. */
import { writeFileSync } from 'node:fs'
import { type EventSink, type PsSeen, psLines, psStart, trainResultDict } from '../event/index.ts'

const NAME = 'train_result_dict.txt'

/** Passes events on; writes the file at the end. All workers of a host write the same. */
export function withResultFile(emit: EventSink, write: (text: string) => void = writeFile): EventSink {
  let seen: PsSeen | undefined
  return (event) => {
    if (event.kind === 'start') seen = psStart(event)
    if (seen) seen = psLines(event, seen).seen
    if (event.kind === 'done' && seen) write(trainResultDict(seen))
    emit(event)
  }
}

/** A working folder that cannot be written is no reason to lose a trained model. */
function writeFile(text: string): void {
  try {
    writeFileSync(NAME, text)
  } catch {
    // What it would hold is printed as well.
  }
}
