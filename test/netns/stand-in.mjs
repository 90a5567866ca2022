/**
 * @file Stands in for `oarfish pserver` and `oarfish trainer` where only their lives matter: the server listens on its ports, the
 * trainer does what the file `plan` of its workspace says.
 */
import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const [role, ...words] = process.argv.slice(2)
const options = Object.fromEntries(words.map((word) => /^--(\w+)=(.*)$/s.exec(word).slice(1)))
const ports = Number(options.ports_num) + Number(options.ports_num_for_sparse)

console.log(`${role} ${words.join(' ')}`)
console.log(
  `job ${process.env.OARFISH_JOB}, token of ${process.env.OARFISH_JOB_TOKEN?.length}, ${process.env.LD_LIBRARY_PATH}`,
)
if (role === 'pserver') serve()
else await train(readFileSync('plan', 'utf8').trim())

function serve() {
  const [{ address }] = networkInterfaces()[options.nics]
  for (let i = 0; i < ports; i++) createServer((socket) => socket.destroy()).listen(Number(options.port) + i, address)
}

/** `done`, `wait`, `deaf`: waits and does not end by signals, or `fail N`: node N fails, the others wait. */
async function train(plan) {
  if (plan === 'deaf') for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)
  await Promise.all(options.pservers.split(',').map(answering))
  console.log(`Pass=0 Batch=${options.log_period} cost=0.5`)
  console.error('a line of stderr')
  if (plan === 'done') setTimeout(() => process.exit(0), 200)
  else setInterval(() => undefined, 1000)
  if (plan === `fail ${options.trainer_id}`) {
    console.error('the loss is not a number')
    setTimeout(() => process.exit(3), 200)
  }
}

/** As a trainer does: it is started with the servers, and waits for them. */
async function answering(host) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const socket = connect(Number(options.port), host)
    const connected = await new Promise((done) =>
      socket.once('connect', () => done(true)).once('error', () => done(false)),
    )
    socket.destroy()
    if (connected) return
    await sleep(50)
  }
  process.exit(9)
}
