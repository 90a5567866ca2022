/** @file `oarfish port`: drafts model.ts from PaddleRec's Python. */
import { stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { shown, UserError } from '../base/util/index.ts'
import type { CliIo } from './io.ts'

interface PortCliOptions {
  readonly config?: string
  readonly out?: string
  readonly python?: string
  readonly force?: boolean
}

export function portCommand(io: CliIo): Command {
  return new Command('port')
    .description(
      "Draft model.ts from a net of PaddleRec: read by Python's own parser, not run (docs/guide/porting.md).",
    )
    .argument('<net>', 'net.py, or the folder of a model')
    .argument('[static_model]', 'static_model.py; by default the one beside net.py')
    .option('--config <file>', 'the yaml whose values the net is followed with; by default config.yaml beside net.py')
    .option('--out <file>', 'the draft; by default model.ts beside net.py. "-" prints it')
    .option('--python <program>', 'the Python that parses', 'python3')
    .option('--force', 'replace a file that is there')
    .action((net: string, model: string | undefined, options: PortCliOptions) => runPort(net, model, options, io))
}

async function runPort(
  net: string,
  model: string | undefined,
  { config, out, python, force = false }: PortCliOptions,
  io: CliIo,
): Promise<void> {
  const { portModel, portReport } = await import('../paddle/port/index.ts')
  const isFolder = (await stat(net).catch(() => undefined))?.isDirectory() ?? false
  const target = out ?? join(isFolder ? net : dirname(net), 'model.ts')
  if (target !== '-' && !force && (await stat(target).catch(() => undefined)))
    throw new UserError(`${shown(target)} is there already`, {
      code: 'PORT_TARGET',
      hint: 'write elsewhere with --out FILE, or replace it with --force',
    })
  const draft = await portModel({ source: net, model, config, python })
  if (target === '-') {
    io.out.write(draft.text)
    io.err.write(portReport(draft, 'model.ts'))
    return
  }
  await writeFile(target, draft.text)
  io.out.write(portReport(draft, target))
}
