/** @file The `oarfish` command line: finds the command, hands over, turns its end into an exit code. Knows nothing of what commands do. */
import { Command } from 'commander'
import { reportFailure } from './failure.ts'
import { type CliIo, processIo } from './io.ts'
import { packageVersion } from './version.ts'

type MakeCommand = (io: CliIo) => Command

/** In the order of the help. A process loads the one that it runs: loading all takes longer than many of them run. */
const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  train: async () => (await import('./train.ts')).trainCommand,
  infer: async () => (await import('./infer.ts')).inferCommand,
  run: async () => (await import('./run.ts')).runCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  convert: async () => (await import('./convert.ts')).convertCommand,
  predict: async () => (await import('./predict.ts')).predictCommand,
  serve: async () => (await import('./serve.ts')).serveCommand,
  inspect: async () => (await import('./inspect.ts')).inspectCommand,
  jobs: async () => (await import('./jobs.ts')).jobsCommand,
  status: async () => (await import('./jobs.ts')).statusCommand,
  logs: async () => (await import('./jobs.ts')).logsCommand,
  stop: async () => (await import('./jobs.ts')).stopCommand,
  cloud: async () => (await import('./cloud.ts')).cloudCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  data: async () => (await import('./data.ts')).dataCommand,
  launch: async () => (await import('./fleetrun.ts')).fleetrunCommand,
  launch_ps: async () => (await import('./launch-ps.ts')).launchPsCommand,
  cluster: async () => (await import('./cluster.ts')).clusterCommand,
  trainer: async () => (await import('./trainer.ts')).trainerCommand,
  pserver: async () => (await import('./trainer.ts')).pserverCommand,
  tool: async () => (await import('./tool.ts')).toolCommand,
  exec: async () => (await import('./exec.ts')).execCommand,
  agent: async () => (await import('./agent.ts')).agentCommand,
  reader: async () => (await import('./reader.ts')).readerCommand,
  'cluster-host': async () => (await import('./cluster-host.ts')).clusterHostCommand,
}

/** Not for people: not in the help. */
const HIDDEN: readonly string[] = ['cluster-host']

const EXAMPLES = `
Examples
  oarfish train -m models/rank/dnn/config.yaml
  oarfish train -m models/rank/dnn/config.yaml -o runner.epochs=2 runner.thread_num=2
  oarfish train -m models/rank/dnn/config.yaml --resume
  oarfish infer -m models/rank/dnn/config.yaml
  oarfish run -m config.yaml
  oarfish export -m models/rank/dnn/config.yaml --out exported
  oarfish convert -m models/rank/dnn/config.yaml --from paddle_model --to exported --as export
  oarfish predict --model exported data/test/part-0
  oarfish serve --model exported --port 8080
  oarfish check -m models/rank/dnn/config.yaml
  oarfish data criteo-like --rows 400000 --out data/criteo

Exit codes: 0 done, 1 a bug in oarfish, 2 something to mend in a file or on the command line, 130 stopped by Ctrl+C.
`

/** Runs one command line and resolves to its exit code; it never rejects. */
export async function run(argv: readonly string[], io: CliIo = processIo()): Promise<number> {
  await tellAccess(io.env)
  const program = new Command('oarfish')
    .description('Distributed training of recommender models.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .addHelpText('after', EXAMPLES)
    // What follows a launcher's script or a tool's name is the script's or the tool's.
    .enablePositionalOptions()
  for (const name of namesIn(argv)) {
    const make = await COMMANDS[name]!()
    program.addCommand(make(io), { hidden: HIDDEN.includes(name) })
  }
  return await parse(program, argv, io)
}

/** The commands that a line may need: its own; for help, and to guess what was meant, all. */
function namesIn([first = '']: readonly string[]): readonly string[] {
  if (Object.hasOwn(COMMANDS, first)) return [first]
  return first === '--version' || first === '-V' ? [] : Object.keys(COMMANDS)
}

/** Where data at `hdfs://` or `s3://` lies, and who asks for it: as a node of a job says to its processes. */
async function tellAccess({ OARFISH_FS_NAME: name, OARFISH_FS_UGI: ugi }: CliIo['env']): Promise<void> {
  if (name === undefined && ugi === undefined) return
  const { tellFileAccess } = await import('../fs/index.ts')
  tellFileAccess({ name, ugi })
}

/** The `fleetrun` command, which is `oarfish launch`. */
export async function runFleetrun(argv: readonly string[], io: CliIo = processIo()): Promise<number> {
  const { fleetrunCommand } = await import('./fleetrun.ts')
  return await parse(fleetrunCommand(io, 'fleetrun').version(packageVersion()), argv, io)
}

/** The `paddlecloud` command: PaddleCloud's client. */
export async function runPaddlecloud(argv: readonly string[], io: CliIo = processIo()): Promise<number> {
  const { paddlecloudCommand } = await import('./paddlecloud.ts')
  // Its --json is about what a submission prints.
  return await parse(paddlecloudCommand(io).version(packageVersion()), argv, io, { json: false })
}

/** The `paddle_k8s` command: what pods of PaddlePaddle's images run. */
export async function runPaddleK8s(argv: readonly string[], io: CliIo = processIo()): Promise<number> {
  const { paddleK8sCommand } = await import('./paddle-k8s.ts')
  return await parse(paddleK8sCommand(io).version(packageVersion()), argv, io)
}

async function parse(
  program: Command,
  argv: readonly string[],
  io: CliIo,
  { json = argv.includes('--json') } = {},
): Promise<number> {
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
    return reportFailure(error, io, { json })
  }
}

function withChildren(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withChildren)]
}
