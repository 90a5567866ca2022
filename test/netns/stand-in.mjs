/**
 * @file Stands in for `oarfish pserver` and `oarfish trainer` where only their lives matter: the server listens on its ports, the
 * trainer does what the file `plan` of its workspace says.
 */
import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'

const [role, ...words] = process.argv.slice(2)
const options = Object.fromEntries(words.map((word) => /^--(\w+)=(.*)$/s.exec(word).slice(1)))
const ports = Number(options.ports_num) + Number(options.ports_num_for_sparse)

console.log(`${role} ${words.join(' ')}`)
console.log(
  `job ${process.env.OARFISH_JOB}, token of ${process.env.OARFISH_JOB_TOKEN?.length}, ${process.env.LD_LIBRARY_PATH}`,
)
if (role === 'pserver') serve()
else train(readFileSync('plan', 'utf8').trim())

function serve() {
  const [{ address }] = networkInterfaces()[options.nics]
  for (let i = 0; i < ports; i++) createServer((socket) => socket.destroy()).listen(Number(options.port) + i, address)
}

/** `done`, `wait`, `deaf`: waits and does not end by signals, or `fail N`: node N fails, the others wait. */
function train(plan) {
  if (plan === 'deaf') for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)
  // All servers answer by now, or starting was too early.
  for (const host of options.pservers.split(','))
    connect(Number(options.port), host)
      .on('error', () => process.exit(9))
      .end()
  console.log(`Pass=0 Batch=${options.log_period} cost=0.5`)
  console.error('a line of stderr')
  if (plan === 'done') setTimeout(() => process.exit(0), 200)
  else setInterval(() => undefined, 1000)
  if (plan === `fail ${options.trainer_id}`) {
    console.error('the loss is not a number')
    setTimeout(() => process.exit(3), 200)
  }
}
