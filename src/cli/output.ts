/** @file Which printer a command's events go to: JSON lines, a progress bar on a terminal, or PaddleRec's lines. */
import { type EventSink, jsonlSink, paddleSink, progressSink, withViewFile } from '../base/event/index.ts'
import type { CliIo } from './io.ts'

export interface Output {
  readonly emit: EventSink
  /** Takes a bar off the screen; what was printed stays. */
  close(): void
}

export function openOutput(
  { out, err, env, platform, quiet = false }: CliIo,
  { json }: { readonly json: boolean },
): Output {
  const write = (text: string) => {
    out.write(text)
  }
  const close = () => undefined
  if (quiet) {
    const told = paddleSink((text) => void err.write(text))
    return {
      emit: (event) => (event.kind === 'warning' || event.kind === 'interrupted' ? told(event) : undefined),
      close,
    }
  }
  if (json) return { emit: jsonlSink(write), close }
  if (!out.isTTY) return { emit: watched(paddleSink(write), env), close }
  const sink = progressSink(out, {
    color: !env['NO_COLOR'] && (out.hasColors?.() ?? false),
    unicode: showsUnicode(env, platform),
  })
  return { emit: sink, close: sink.close }
}

/** Under a launcher with a terminal, which shows how far each process is. */
function watched(emit: EventSink, { OARFISH_LOG_FILE: log, OARFISH_VIEW: wanted }: CliIo['env']): EventSink {
  return log && wanted === '1' ? withViewFile(emit, log) : emit
}

/** By locale, where there is one; on Windows by terminal, since the old console has no locale and few glyphs. */
export function showsUnicode(env: CliIo['env'], platform: string): boolean {
  if (platform === 'win32') return Boolean(env['WT_SESSION'] ?? env['TERM_PROGRAM'])
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return locale === '' || /utf-?8/i.test(locale)
}
