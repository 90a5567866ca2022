/** @file Standard input by lines and standard output with a pause where nobody reads: what a reader behind a pipe_command runs on. */
import { once } from 'node:events'

/** Lines of standard input without their ends. */
export async function* stdinLines(): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const data of process.stdin) {
    const lines = (rest + decoder.decode(data as Uint8Array, { stream: true })).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Waits while the other end is slower. */
export async function writeStdout(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
