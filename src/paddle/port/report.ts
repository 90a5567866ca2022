/** @file What `oarfish port` prints beside the draft: what was translated, what was not and why, what to type next. */
import { basename } from 'node:path'
import { shown } from '../../base/util/index.ts'
import { quoted } from './ast.ts'
import type { Draft } from './port.ts'

export function portReport({ files, config, statements, gaps, skipped, unused, notes }: Draft, out: string): string {
  const names = files.map((file) => basename(file)).join(' and ')
  const lost = gaps.map(({ file, node, reason }) => `  ${quoted(file, node, 90)}\n      ${reason}`)
  const left = skipped.map(
    ({ file, node, reason }) => `  ${file.name}:${node.line}${node.end > node.line ? `-${node.end}` : ''}: ${reason}`,
  )
  return [
    `${shown(out)}: drafted from ${names}${config ? ` with the values of ${basename(config)}` : ', without a config'}`,
    `${statements - gaps.length} of ${statements} statements were translated`,
    ...section('not translated (the draft throws there, with the line):', lost),
    ...section('not followed (the draft throws there, with the line):', left),
    ...section(
      'classes that nothing uses, left out:',
      unused.map((own) => `  ${own}`),
    ),
    ...section(
      'to know:',
      notes.map((own) => `  ${own}`),
    ),
    '',
    'next:',
    ...nextCommands(out, config),
    '',
  ].join('\n')
}

const section = (title: string, lines: readonly string[]) => (lines.length > 0 ? ['', title, ...lines] : [])

function nextCommands(out: string, config: string | undefined): readonly string[] {
  const yaml = config ? shown(config) : 'config.yaml'
  const beside = `  # ${basename(out)} belongs beside ${basename(yaml)}`
  return [
    beside,
    `  oarfish check -m ${yaml}`,
    `  oarfish train -m ${yaml}`,
    `  oarfish parity --paddle rec.pdparams -m ${yaml}`,
  ]
}
