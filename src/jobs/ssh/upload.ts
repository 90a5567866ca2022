/** @file Files to a host: one tar over the connection. */
import { spawn } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { quoted, UserError } from '../../base/util/index.ts'
import type { Channel } from './channel.ts'

export interface UploadOptions {
  readonly channel: Channel
  /** Here. Links in it are followed. */
  readonly from: string
  /** Below it; folders with all they hold. */
  readonly paths: readonly string[]
  /** There; it exists. */
  readonly to: string
  /** Further arguments of tar here. */
  readonly exclude?: readonly string[]
  readonly onBytes?: (sent: number) => void
}

export async function upload({ channel, from, paths, to, exclude = [], onBytes }: UploadOptions): Promise<void> {
  const flags = exclude.map((pattern) => `--exclude=${pattern}`)
  // Names come over its input: a command line has no room for a hundred thousand of them.
  const tar = spawn('tar', ['-C', from, ...flags, '-chf', '-', '--null', '-T', '-'])
  let packing = ''
  tar.stderr.setEncoding('utf8').on('data', (text: string) => {
    packing += text
  })
  tar.stdin.on('error', () => undefined)
  tar.stdin.end(paths.map((path) => `./${path}\0`).join(''))
  const counted = new PassThrough({ highWaterMark: 1 << 20 })
  let sent = 0
  counted.on('data', (chunk: Buffer) => {
    sent += chunk.length
    onBytes?.(sent)
  })
  const packed = new Promise<number>((done) => {
    tar.once('error', (error) => {
      packing = error.message
      done(127)
    })
    tar.once('close', (code) => done(code ?? 1))
  })
  const unpacked = channel.run(`exec tar -C ${quoted(to)} -xf -`, { input: tar.stdout.pipe(counted) })
  const { code, err } = await unpacked
  if (code !== 0) {
    tar.kill()
    throw unpackError(channel, err)
  }
  if ((await packed) !== 0) throw new UserError(`The files cannot be packed: ${packing.trim()}`, { code: 'SSH_UPLOAD' })
}

function unpackError({ host }: Channel, said: string): UserError {
  if (/No space left|Disk quota/i.test(said))
    return new UserError(`${host.name}: the disk is full.`, {
      code: 'SSH_DISK',
      hint: 'Remove folders of earlier jobs (JOB...) below ROOT_DIR there, or choose another ROOT_DIR.',
    })
  return new UserError(`${host.name}: the files could not be unpacked: ${said.trim()}`, { code: 'SSH_UPLOAD' })
}
