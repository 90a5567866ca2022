/** @file A pipe_command as a source: what it prints for a file, parsed like a file. */
import type { TextFormat } from '../kernel/index.ts'
import { isUserError } from '../util/index.ts'
import { type PipeOptions, type ProcessNote, startPipe } from './pipe.ts'
import { pipeBadLine, pipePrintedNothing } from './pipe-errors.ts'
import type { Chunk } from './plan.ts'
import { damagedGzip, type Source, type TextPiece, type TextSources } from './text-source.ts'

export function createPipeSource(
  text: TextSources,
  pipe: PipeOptions,
  note: ProcessNote,
): (chunk: Chunk, format: TextFormat) => Source {
  return async function* (chunk, format) {
    const { output, stderr } = startPipe(pipe, chunk.file, note)
    let printed = false
    let samples = 0
    const pieces = async function* (): AsyncGenerator<TextPiece> {
      let bytes = 0
      for await (const data of output) {
        printed = true
        bytes += data.length
        // How much of the file the command has read is not known: about as much as it printed.
        yield { data, bytesRead: Math.min(bytes, chunk.to) }
      }
    }
    try {
      for await (const part of text.stream(chunk, format, pieces(), true)) {
        samples += part.columns.samples + part.skipped
        yield part
      }
      if (printed && samples === 0) throw pipePrintedNothing({ ...pipe, file: chunk.file, stderr: stderr() })
    } catch (error) {
      if (!isUserError(error) || error.code !== 'DATA_LINE') throw damagedGzip(error, chunk.file)
      throw pipeBadLine(error, { ...pipe, file: chunk.file, stderr: stderr() })
    } finally {
      await output.return()
    }
  }
}
