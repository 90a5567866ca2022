/** @file A pipe_command as a source: what it prints for a file, parsed like a file. */
import type { TextFormat } from '../../base/kernel/index.ts'
import { isUserError } from '../../base/util/index.ts'
import type { ReaderThreadData } from '../messages.ts'
import type { Chunk } from '../plan.ts'
import type { Source, TextSources } from '../text/text-source.ts'
import { damagedGzip } from '../text/text-stream.ts'
import { type PipeOptions, startPipe } from './pipe.ts'
import { pipeBadLine, pipePrintedNothing } from './pipe-errors.ts'

export function createPipeSource(
  text: TextSources,
  { pipe, process, fifos }: Pick<ReaderThreadData, 'process' | 'fifos'> & { readonly pipe: PipeOptions },
): (chunk: Chunk, format: TextFormat, read: number) => Source {
  return async function* (chunk, format, read) {
    const command = startPipe(pipe, chunk.file, { note: process, read, fifos })
    let printed = 0
    let samples = 0
    const stream = {
      read: async (into: Uint8Array) => {
        const bytes = await command.read(into)
        printed += bytes
        return bytes
      },
      // How much of the file the command has read is not known: about as much as it printed.
      inputBytes: () => Math.min(printed, chunk.to),
    }
    const end = () => ({ ...pipe, file: chunk.file, stderr: command.stderr() })
    try {
      for await (const part of text.stream(chunk, format, stream, true)) {
        samples += part.columns.samples + part.skipped
        yield part
      }
      if (printed > 0 && samples === 0) throw pipePrintedNothing(end())
    } catch (error) {
      if (!isUserError(error) || error.code !== 'DATA_LINE') throw damagedGzip(error, chunk.file)
      throw pipeBadLine(error, end())
    } finally {
      command.close()
    }
  }
}
