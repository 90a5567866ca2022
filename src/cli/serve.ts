/** @file `oarfish serve`: a model behind HTTP until a signal stops it. */
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import { type CliIo, STOP_SIGNALS } from './io.ts'
import { deviceOption, oneOf, wholeNumber } from './options.ts'
import { openOutput } from './output.ts'
import { readerOf } from './predict.ts'

interface ServeCliOptions {
  readonly model?: string
  readonly follow?: string
  readonly index?: string
  readonly at?: string
  readonly followersDir?: string
  readonly port: number
  readonly host: string
  readonly threads?: number
  readonly batchWindowMs: number
  readonly maxBatch: number
  readonly maxBodyBytes: number
  readonly pollMs?: number
  readonly fillMissing?: boolean
  readonly config_yaml?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly json?: boolean
  readonly device: string
}

export function serveCommand(io: CliIo): Command {
  return new Command('serve')
    .description(
      'Score over HTTP: POST /predict with slot text or JSON; GET /docs, /openapi.json, /healthz and /metrics. A newer export is taken up without a gap.',
    )
    .option('--model <folder>', 'an export that may be replaced, or a folder that holds exports by epoch')
    .option(
      '--follow <folder>',
      'what online training publishes there (also hdfs://, s3://): its base, then every delta',
    )
    .option(
      '--index <folder>',
      'what `oarfish index` wrote: POST /recall finds the nearest items of users; alone or beside a model',
    )
    .option('--at <day/pass>', 'with --follow: this version, and no other; the newest unless given')
    .option(
      '--followers-dir <folder>',
      'with --follow: where to note how far this server is, for the dashboard; followers/ in the followed folder unless given',
    )
    .requiredOption('--port <n>', 'where to listen; 0 for any free port', wholeNumber)
    .option('--host <address>', 'the address to listen on; 0.0.0.0 for all', '127.0.0.1')
    .option('--threads <n>', 'threads that score; one less than the cores unless given', wholeNumber)
    .option('--batch-window-ms <n>', 'how long a request waits for others to be scored with', wholeNumber, 0)
    .option('--max-batch <n>', 'requests scored together at most', wholeNumber, 256)
    .option('--max-body-bytes <n>', 'larger requests are refused', wholeNumber, 1024 * 1024)
    .option('--poll-ms <n>', 'how often to look for a newer export; 1000 unless given, 250 with --follow', wholeNumber)
    .option('--fill-missing', 'fill slots that a request lacks as in training, instead of refusing it')
    .addOption(deviceOption())
    .option('-m, --config_yaml <file>', "read text of requests with this config's reader.ts")
    .option('--tls-cert <file>', 'serve HTTPS: a certificate, PEM, with those between it and its authority')
    .option('--tls-key <file>', 'its private key, PEM')
    .option('--json', 'print events as JSON lines')
    .action((options: ServeCliOptions) => runServe(options, io))
}

async function runServe(typed: ServeCliOptions, io: CliIo): Promise<void> {
  const { json = false, device: name, config_yaml, ...options } = typed
  const { DEVICE_NAMES } = await import('../base/device/index.ts')
  const device = oneOf('--device', DEVICE_NAMES, name)
  const reader = config_yaml === undefined ? undefined : await ownReader(config_yaml)
  const { serve } = await import('../inference/serve/index.ts')
  const output = openOutput(io, { json })
  let asked: () => void = () => {}
  const stopped = new Promise<void>((resolve) => {
    asked = resolve
  })
  let signals = 0
  const stopListening = io.onSignal((signal) => {
    if (signals++ > 0) return io.exit(STOP_SIGNALS[signal])
    output.emit({ kind: 'notice', message: 'Stopping: what was asked is still answered.' })
    asked()
  })
  try {
    const served = await serve({ ...options, device, reader, emit: output.emit })
    await stopped
    await served.close()
  } finally {
    stopListening()
    output.close()
  }
}

/** The reader.ts of a config; one without has nothing to add to text. */
async function ownReader(path: string) {
  const { userReader } = await readerOf(path)
  if (userReader) return userReader
  throw new UserError('there is no reader.ts for this config, so requests are read as text without it', {
    code: 'CLI_OPTION',
    where: { file: path },
    hint: 'leave -m out, or set runner.infer_reader_path',
  })
}
