/** @file `oarfish shell-init`: shell code after which the Python lines of PaddlePaddle's documents are typed as they stand. */
import { Command } from 'commander'
import { packageFile, shellWord } from '../base/util/index.ts'
import type { CliIo } from './io.ts'

export function shellInitCommand(io: CliIo): Command {
  return new Command('shell-init')
    .description('Print shell code for bash and zsh; eval "$(oarfish shell-init)" makes python -m paddlerec.run work.')
    .action(() => void io.out.write(shellCode()))
}

function shellCode(): string {
  const [shims, own] = [shellWord(packageFile('bin/shell')), shellWord(packageFile('bin/path'))]
  return `export OARFISH_NODE=${shellWord(process.execPath)}
case ":$PATH:" in *:${shims}:*) ;; *) export PATH=${shims}:"$PATH" ;; esac
command -v oarfish >/dev/null 2>&1 || export PATH="$PATH":${own}
hash -r 2>/dev/null || true
`
}
