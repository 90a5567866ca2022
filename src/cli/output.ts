/** @file Which printer a command's events go to: JSON lines, a progress bar on a terminal, or PaddleRec's lines. */
import { type EventSink, jsonlSink, paddleSink, progressSink } from '../base/event/index.ts'
import type { CliIo } from './io.ts'

export interface Output {
  readonly emit: EventSink
  /** Takes a bar off the screen; what was printed stays. */
  close(): void
}

export function openOutput({ out, env, platform }: CliIo, { json }: { readonly json: boolean }): Output {
  const write = (text: string) => {
    out.write(text)
  }
  const close = () => undefined
  if (json) return { emit: jsonlSink(write), close }
  if (!out.isTTY) return { emit: paddleSink(write), close }
  const sink = progressSink(out, {
    color: !env['NO_COLOR'] && (out.hasColors?.() ?? false),
    unicode: showsUnicode(env, platform),
  })
  return { emit: sink, close: sink.close }
}

/** By locale, where there is one; on Windows by terminal, since the old console has no locale and few glyphs. */
function showsUnicode(env: CliIo['env'], platform: string): boolean {
  if (platform === 'win32') return Boolean(env['WT_SESSION'] ?? env['TERM_PROGRAM'])
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return locale === '' || /utf-?8/i.test(locale)
}
