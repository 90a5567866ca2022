/** @file `oarfish completion bash|zsh|fish`: completes commands and options, written from the table of commands. */
import { Command } from 'commander'
import type { CliIo } from './io.ts'
import { oneOf } from './options.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** `all` makes every command that people use. */
export function completionCommand(io: CliIo, all: () => readonly Command[]): Command {
  return new Command('completion')
    .description('Print what completes commands and options in a shell: eval "$(oarfish completion bash)"')
    .argument('<shell>', SHELLS.join(', '))
    .action((typed: string) => {
      const shell = oneOf('completion', SHELLS, typed)
      io.out.write(SCRIPTS[shell](all().map(entryOf)))
    })
}

interface Entry {
  readonly name: string
  readonly description: string
  readonly subcommands: readonly string[]
  readonly options: readonly {
    readonly long: string
    readonly short: string | undefined
    readonly description: string
  }[]
}

function entryOf(command: Command): Entry {
  const own = [command, ...command.commands].flatMap(({ options }) => options)
  const options = own.flatMap(({ long, short, description }) => (long ? [{ long, short, description }] : []))
  return {
    name: command.name(),
    description: command.description().split('\n')[0]!,
    subcommands: command.commands.map((child) => child.name()),
    options: [...new Map(options.map((option) => [option.long, option])).values(), HELP],
  }
}

const HELP = { long: '--help', short: '-h', description: 'print help' }

const wordsOf = ({ subcommands, options }: Entry) => [...subcommands, ...options.map(({ long }) => long)].join(' ')

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (entries: readonly Entry[]) => string>> = {
  bash: (entries) => `# eval "$(oarfish completion bash)", also in ~/.bashrc
_oarfish() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${entries.map(({ name }) => name).join(' ')} --help --version'
  else
    case "\${COMP_WORDS[1]}" in
${entries.map((entry) => `      ${entry.name}) words='${wordsOf(entry)}' ;;`).join('\n')}
    esac
  fi
  # Words where one is begun or a command is due; files otherwise.
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -o bashdefault -F _oarfish oarfish
`,
  zsh: (entries) => `# eval "$(oarfish completion zsh)" behind compinit, also in ~/.zshrc
_oarfish() {
  local -a known
  if (( CURRENT == 2 )); then
    known=(${entries.map(({ name, description }) => single(`${name}:${description.replaceAll(':', ' -')}`)).join(' ')})
    _describe 'command' known
    return
  fi
  case "$words[2]" in
${entries.map((entry) => `    ${entry.name}) known=(${wordsOf(entry)}) ;;`).join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then compadd -- $known; else compadd -- \${known:#-*}; _files; fi
}
compdef _oarfish oarfish
`,
  fish: (entries) => `# oarfish completion fish | source, also in ~/.config/fish/config.fish
${entries
  .flatMap(({ name, description, subcommands, options }) => [
    `complete -c oarfish -n __fish_use_subcommand -f -a ${name} -d ${single(description)}`,
    ...subcommands.map((child) => `complete -c oarfish -n '__fish_seen_subcommand_from ${name}' -a ${child}`),
    ...options.map(
      ({ long, description: what }) =>
        `complete -c oarfish -n '__fish_seen_subcommand_from ${name}' -l ${long.slice(2)} -d ${single(what)}`,
    ),
  ])
  .join('\n')}
`,
}

/** In single quotes of any of the three shells. */
const single = (text: string) => `'${text.replaceAll(/['\\\n]/g, ' ')}'`
