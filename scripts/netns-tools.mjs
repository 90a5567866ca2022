/**
 * @file What tests in network namespaces need: root, `ip` and `nft`. Installs the missing ones by apt where there is apt;
 * where they cannot be had, says on stderr what to install and exits 1.
 */
import { spawnSync } from 'node:child_process'
import { installed } from './apt.mjs'

const PACKAGES = { ip: 'iproute2', nft: 'nftables', unshare: 'util-linux' }

if (process.platform !== 'linux' || process.getuid() !== 0) give('run the tests as root on Linux')
const missing = installed(PACKAGES)
if (missing.length > 0) give(`install ${missing.join(', ')} (Debian: apt install ${missing.join(' ')})`)
// A kernel may lack what the tools ask for: try it.
const probe = `oarfish-probe-${process.pid}`
const ruleset =
  'table ip t {\n chain c {\n  type nat hook prerouting priority -100;\n  numgen random mod 100 < 1 drop\n }\n}\n'
const steps = [
  ['ip', ['netns', 'add', probe]],
  ['ip', ['link', 'add', 'probe', 'netns', probe, 'type', 'veth', 'peer', 'name', 'other', 'netns', probe]],
  ['ip', ['netns', 'exec', probe, 'nft', '-f', '-'], ruleset],
]
const failed = steps.map(([command, args, input]) => spawnSync(command, args, { input, encoding: 'utf8' }))
spawnSync('ip', ['netns', 'del', probe])
const refused = failed.find(({ status }) => status !== 0)
if (refused) give(`use a kernel with namespaces, veth and nftables (${refused.stderr.trim().split('\n')[0]})`)

function give(hint) {
  console.error(`There are no network namespaces here. To have them, ${hint}.`)
  process.exit(1)
}
