/** @file The `oarfish` command line: finds the command, hands over, turns its end into an exit code. Knows nothing of what commands do. */
import { Command, CommanderError } from 'commander'
import { setDebugNan, suggest } from '../base/util/index.ts'
import { agentCommand, clusterHostCommand } from './agent.ts'
import { checkCommand } from './check.ts'
import { cloudCommand } from './cloud.ts'
import { clusterCommand } from './cluster.ts'
import { completionCommand } from './completion.ts'
import { convertCommand } from './convert.ts'
import { dashboardCommand } from './dashboard.ts'
import { dataCommand } from './data.ts'
import { devicesCommand } from './devices.ts'
import { diffCommand } from './diff.ts'
import { doctorCommand } from './doctor.ts'
import { execCommand } from './exec.ts'
import { exportCommand } from './export.ts'
import { reportFailure } from './failure.ts'
import { fleetrunCommand } from './fleetrun.ts'
import { importanceCommand } from './importance.ts'
import { indexCommand } from './index-items.ts'
import { inferCommand } from './infer.ts'
import { initCommand } from './init.ts'
import { inspectCommand } from './inspect.ts'
import { underLauncher } from './interrupt.ts'
import { type CliIo, processIo, quietIo } from './io.ts'
import { jobsCommand, logsCommand, statusCommand, stopCommand } from './jobs.ts'
import { launchPsCommand } from './launch-ps.ts'
import { modelCommand } from './model.ts'
import { paddleK8sCommand } from './paddle-k8s.ts'
import { paddlecloudCommand } from './paddlecloud.ts'
import { parityCommand } from './parity.ts'
import { portCommand } from './port.ts'
import { predictCommand } from './predict.ts'
import { pythonCommand } from './python.ts'
import { readerCommand } from './reader.ts'
import { rehearseTraining } from './rehearse.ts'
import { runCommand } from './run.ts'
import { runsCommand } from './runs.ts'
import { serveCommand } from './serve.ts'
import { shellInitCommand } from './shell-init.ts'
import { slimCommand } from './slim.ts'
import { sweepCommand } from './sweep.ts'
import { toolCommand } from './tool.ts'
import { trainCommand } from './train.ts'
import { pserverCommand, trainerCommand } from './trainer.ts'
import { packageVersion } from './user-places.ts'

type MakeCommand = (io: CliIo) => Command

/** In the order of the help. What a command needs beyond its options, it loads when it runs: all of it takes longer than many of them run. */
const COMMANDS: Readonly<Record<string, MakeCommand>> = {
  init: initCommand,
  train: trainCommand,
  infer: inferCommand,
  sweep: sweepCommand,
  run: runCommand,
  runs: runsCommand,
  dashboard: dashboardCommand,
  export: exportCommand,
  index: indexCommand,
  convert: convertCommand,
  port: portCommand,
  parity: parityCommand,
  predict: predictCommand,
  diff: diffCommand,
  importance: importanceCommand,
  serve: serveCommand,
  inspect: inspectCommand,
  jobs: jobsCommand,
  status: statusCommand,
  logs: logsCommand,
  stop: stopCommand,
  cloud: cloudCommand,
  check: checkCommand,
  devices: devicesCommand,
  model: modelCommand,
  doctor: doctorCommand,
  slim: slimCommand,
  data: dataCommand,
  launch: fleetrunCommand,
  launch_ps: launchPsCommand,
  cluster: clusterCommand,
  trainer: trainerCommand,
  pserver: pserverCommand,
  tool: toolCommand,
  exec: execCommand,
  agent: agentCommand,
  reader: readerCommand,
  'shell-init': shellInitCommand,
  completion: (io) => completionCommand(io, () => forPeople().map((name) => commandOf(name, io))),
  python: (io) => pythonCommand(io, (argv) => run(argv, io)),
  'cluster-host': clusterHostCommand,
}

/** Not for people: not in the help. */
const HIDDEN: readonly string[] = ['cluster-host', 'python']

const forPeople = () => Object.keys(COMMANDS).filter((name) => !HIDDEN.includes(name))

/** What follows their script or tool is not theirs, --quiet neither. */
const PASSES_ON: readonly string[] = [
  'launch',
  'launch_ps',
  'tool',
  'exec',
  'reader',
  'python',
  'trainer',
  'pserver',
  'agent',
  'cluster',
  'cluster-host',
]

/** A command with the option that all have. */
function commandOf(name: string, io: CliIo): Command {
  const command = COMMANDS[name]!(io)
  const own = command.commands.length > 0 ? command.commands : [command]
  if (!PASSES_ON.includes(name)) for (const one of own) one.option('--quiet', 'print warnings and errors alone')
  return command
}

/** Started by a launcher as they are; `tool` and `exec` see to it by themselves. */
const LAUNCHED: readonly string[] = ['train', 'infer']

const EXAMPLES = `
Examples
  oarfish init clicks
  oarfish train -m models/rank/dnn/config.yaml
  oarfish train -m models/rank/dnn/config.yaml -o runner.epochs=2 runner.thread_num=2
  oarfish train -m models/rank/dnn/config.yaml --resume
  oarfish infer -m models/rank/dnn/config.yaml
  oarfish sweep -m models/rank/dnn/config.yaml --set hyper_parameters.optimizer.learning_rate=log:1e-4..1e-2 --runs 20
  oarfish run -m config.yaml
  oarfish export -m models/rank/dnn/config.yaml --out exported
  oarfish index -m models/recall/two_tower/config.yaml --out index
  oarfish convert -m models/rank/dnn/config.yaml --from paddle_model --to exported --as export
  oarfish port models/rank/mine/net.py
  oarfish parity --paddle rec.pdparams -m models/rank/mine/config.yaml
  oarfish predict --model exported data/test/part-0
  oarfish serve --model exported --port 8080
  oarfish serve --index index --port 8080
  oarfish check -m models/rank/dnn/config.yaml
  oarfish data criteo-like --rows 400000 --out data/criteo

Exit codes: 0 done, 1 a bug in oarfish, 2 something to mend in a file or on the command line, 130 stopped by Ctrl+C.
`

/** Runs one command line and resolves to its exit code; it never rejects. */
export async function run(argv: readonly string[], given: CliIo = processIo()): Promise<number> {
  const isQuiet = argv.includes('--quiet') && !PASSES_ON.includes(argv[0] ?? '')
  const io = isQuiet ? quietIo(given) : given
  await setFileAccess(io.env)
  // Of processes that a launcher starts, and of programs: they have no --debug-nan.
  setDebugNan(io.env['OARFISH_DEBUG_NAN'] === '1')
  if (LAUNCHED.includes(argv[0] ?? '') && io.env['OARFISH_LIFELINE'])
    await underLauncher(io, () => rehearseTraining(argv.slice(1), io))
  const program = new Command('oarfish')
    .description('Distributed training of recommender models.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .addHelpText('after', EXAMPLES)
    // What follows a launcher's script or a tool's name is the script's or the tool's.
    .enablePositionalOptions()
  for (const name of namesIn(argv)) {
    program.addCommand(commandOf(name, io), { hidden: HIDDEN.includes(name) })
  }
  return await parse(program, argv, io)
}

/** The commands that a line may need: its own; for help, and to guess what was meant, all. */
function namesIn([first = '']: readonly string[]): readonly string[] {
  if (Object.hasOwn(COMMANDS, first)) return [first]
  return first === '--version' || first === '-V' ? [] : Object.keys(COMMANDS)
}

/** Where data at `hdfs://` or `s3://` lies, and as whom to ask for it: a node of a job sets these variables for its processes. */
async function setFileAccess({ OARFISH_FS_NAME: name, OARFISH_FS_UGI: ugi }: CliIo['env']): Promise<void> {
  if (name === undefined && ugi === undefined) return
  const { setFileAccess } = await import('../base/fs/index.ts')
  setFileAccess({ name, ugi })
}

/** The `fleetrun` command, which is `oarfish launch`. */
export async function runFleetrun(argv: readonly string[], io: CliIo = processIo()): Promise<number> {
  return await parse(fleetrunCommand(io, 'fleetrun').version(packageVersion()), argv, io)
}

/** The `paddlecloud` command: PaddleCloud's client. */
export async function runPaddlecloud(argv: readonly string[], io: CliIo = processIo()): Promise<number> {
  // Its --json is about what a submission prints.
  return await parse((await paddlecloudCommand(io)).version(packageVersion()), argv, io, { json: false })
}

/** The `paddle_k8s` command: what pods of PaddlePaddle's images run. */
export async function runPaddleK8s(argv: readonly string[], io: CliIo = processIo()): Promise<number> {
  return await parse(paddleK8sCommand(io).version(packageVersion()), argv, io)
}

/** `kill -USR1 PID`: prints where each thread of this process is. */
function printStacksOnSignal(io: CliIo): void {
  if (io.platform === 'win32') return
  process.removeAllListeners('SIGUSR1').on('SIGUSR1', async () => {
    try {
      const { processStacks } = await import('../base/stacks/index.ts')
      io.err.write(await processStacks())
    } catch (error) {
      io.err.write(`Where the threads are is not known: ${(error as Error).message}\n`)
    }
  })
}

async function parse(
  program: Command,
  argv: readonly string[],
  io: CliIo,
  { json = argv.includes('--json') } = {},
): Promise<number> {
  printStacksOnSignal(io)
  for (const command of withChildren(program)) {
    command
      .exitOverride()
      .configureOutput({ writeOut: (text) => io.out.write(text), writeErr: (text) => io.err.write(text) })
  }
  try {
    // Without a command commander takes help for an error; here it is the answer.
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' })
    return 0
  } catch (error) {
    if (!(error instanceof CommanderError) || error.code !== 'commander.missingMandatoryOptionValue')
      return reportFailure(error, io, { json })
    for (const line of unknownOptions(program, argv)) io.err.write(`${line}\n`)
    const code = reportFailure(error, io, { json })
    const config = configWithoutOption(argv)
    if (config !== undefined && error.message.includes("'-m,")) io.err.write(`(Did you mean -m ${config}?)\n`)
    return code
  }
}

/** commander stops at what is missing; what is mistyped may be just that. */
function unknownOptions(program: Command, argv: readonly string[]): readonly string[] {
  const command = program.commands.find((one) => one.name() === argv[0])
  if (!command) return []
  const known = command.options.flatMap(({ long }) => long ?? [])
  return command
    .parseOptions(argv.slice(1))
    .unknown.filter((word) => word.startsWith('-'))
    .map((word) => {
      const guess = suggest(word, known)
      return `error: unknown option '${word}'${guess ? ` (Did you mean ${guess}?)` : ''}`
    })
}

/** A yaml file that was named alone, as many programs take it. */
function configWithoutOption(argv: readonly string[]): string | undefined {
  return argv.find((word, i) => /\.ya?ml$/.test(word) && !word.startsWith('-') && !argv[i - 1]?.startsWith('-'))
}

function withChildren(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withChildren)]
}
