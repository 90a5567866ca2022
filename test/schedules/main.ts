/** @file Entry of `npm run schedules`: many schedules, a thousand at a time. What fails is made as small as it can be and printed with the command that repeats it. */
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { elasticSchedules, runSchedule } from './check.ts'

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
  },
})

const AT_ONCE = 1000
const count = Number(values.schedules)
const first = Number(values.seed)
if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(first)) {
  console.error('--schedules and --seed are whole numbers')
  process.exit(2)
}

let [restarts, byHand, resizes] = [0, 0, 0]
const began = performance.now()
const property = fc.property(elasticSchedules, (schedule) => {
  const outcome = runSchedule(schedule)
  restarts += outcome.restarts
  byHand += outcome.byHand
  resizes += outcome.resizes
  if (outcome.problems.length > 0) throw new Error(outcome.problems.join('; '))
})

for (let done = 0; done < count; done += AT_ONCE) {
  const seed = first + done / AT_ONCE
  const numRuns = Math.min(AT_ONCE, count - done)
  const { failed, counterexample, errorInstance } = fc.check(property, { numRuns, seed })
  if (failed) {
    console.log(`x ${(errorInstance as Error).message}\n${JSON.stringify(counterexample![0], null, 1)}`)
    console.log(`again: npm run schedules -- --schedules ${numRuns} --seed ${seed}`)
    process.exit(1)
  }
  if ((done / AT_ONCE) % 10 === 9) console.log(`${done + numRuns} of ${count} schedules`)
}
const seconds = ((performance.now() - began) / 1000).toFixed(0)
console.log(
  `+ ${count} schedules from seed ${first} on: ${restarts} restarts, ${byHand} starts by hand, ${resizes} changes of size, ${seconds} s`,
)
