/** @file A pipe_command as a source: what it prints for a file, parsed like a file. */
import type { TextFormat } from '../kernel/index.ts'
import { isUserError } from '../util/index.ts'
import type { ThreadData } from './messages.ts'
import { startPipe } from './pipe.ts'
import { pipeBadLine, pipePrintedNothing } from './pipe-errors.ts'
import type { Chunk } from './plan.ts'
import { damagedGzip, type Source, type TextSources } from './text-source.ts'

export function createPipeSource(
  text: TextSources,
  { pipe, process, fifos }: Pick<ThreadData, 'process' | 'fifos'> & { readonly pipe: NonNullable<ThreadData['pipe']> },
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
