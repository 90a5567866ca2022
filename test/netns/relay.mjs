/**
 * @file A TCP relay that holds back every byte for some milliseconds, in both directions: the slow line between hosts. Connections
 * are redirected to it by nftables; where each was going to, the kernel still knows.
 */
import { connect, createServer } from 'node:net'
import koffi from 'koffi'

const [port, delayMs] = process.argv.slice(2).map(Number)
const getsockopt = koffi.load('libc.so.6').func('int getsockopt(int, int, int, _Out_ uint8_t *, _Inout_ uint32_t *)')
const [SOL_IP, SO_ORIGINAL_DST] = [0, 80]

createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
  const target = connect({ ...wanted(client), noDelay: true, allowHalfOpen: true })
  // What breaks on one side breaks on the other, as if there were one connection.
  const broken = () => {
    client.resetAndDestroy()
    target.resetAndDestroy()
  }
  client.on('error', broken)
  target.on('error', broken)
  hold(client, target)
  hold(target, client)
}).listen(port, '0.0.0.0', () => console.log('ready'))

/** Passes on in order, `delayMs` late. The writer's own queue holds the reader back when the far side is slow. */
function hold(from, to) {
  from.on('data', (piece) => {
    setTimeout(() => {
      if (to.destroyed || to.write(piece)) return
      from.pause()
      to.once('drain', () => from.resume())
    }, delayMs)
  })
  from.on('end', () => setTimeout(() => to.end(), delayMs))
}

function wanted(socket) {
  const address = Buffer.alloc(16)
  const length = [address.length]
  // sockaddr_in: family, port and address, in the order of the network.
  if (getsockopt(socket._handle.fd, SOL_IP, SO_ORIGINAL_DST, address, length) !== 0) throw new Error('not redirected')
  return { host: address.subarray(4, 8).join('.'), port: address.readUInt16BE(2) }
}
