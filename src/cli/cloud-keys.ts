/** @file `oarfish cloud keys`: a user's own entry on the job server, and new keys in place of the old ones. */
import { Command } from 'commander'
import { UserError } from '../base/util/index.ts'
import { type ClientOptions, clientFor, saveKeys } from './cloud-client.ts'
import type { CliIo } from './io.ts'

export function keysCommand(io: CliIo): Command {
  return new Command('keys')
    .description('Show whose keys you have on the job server; --rotate replaces them.')
    .option('--profile <name>', 'credentials of ~/.config/oarfish/credentials; default: those of the last job')
    .option('--server <url>', 'address of the job server; default: that of the last job')
    .option('--rotate', 'get new keys, and keep them in the profile; the old ones are worth nothing from then on')
    .action(async ({ rotate = false, ...options }: ClientOptions & { rotate?: boolean }) => {
      const client = await clientFor(options, io)
      const { name, ak, admin, uid, groups } = await client.whoAmI()
      if (rotate) return await replaceKeys(client, io)
      const shares = groups.map(
        ({ name: group, quota = 0, priorities = [] }) =>
          `  group ${group}: ${quota} nodes, priorities ${priorities.join(', ')}\n`,
      )
      const more = [...(admin ? ['administrator'] : []), ...(uid === undefined ? [] : [`uid ${uid}`])]
      io.out.write(`user ${[name, ...more].join(', ')} of ${client.server}\nak: ${ak}\n${shares.join('')}`)
    })
}

type Client = Awaited<ReturnType<typeof clientFor>>

async function replaceKeys(client: Client, io: CliIo): Promise<void> {
  const { protocol, hostname } = new URL(client.server)
  if (protocol !== 'https:' && !['127.0.0.1', '[::1]', 'localhost'].includes(hostname))
    throw new UserError(`New keys would come over the network in plain text from ${client.server}.`, {
      code: 'CLOUD_KEYS_PLAIN',
      hint: 'Serve it by TLS (oarfish cloud serve --tls-cert --tls-key) and name it by https://, or have its administrator run: oarfish cloud user rotate NAME',
    })
  const keys = await client.rotate()
  await saveKeys(client.profile, keys, io)
  io.out.write(
    `ak: ${keys.ak}\nThe new keys are kept as credentials:${client.profile}; the old ones are worth nothing now.\n`,
  )
  io.out.write(`Where backend.yaml has ak and sk written out, write credentials:${client.profile} in their place.\n`)
}
