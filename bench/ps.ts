/** @file The parameter server: training beside Paddle's, accuracy by mode, start and end of a job, requests, growth. JSON lines. */
import { parseArgs } from 'node:util'
import { accuracyByMode, PS_LAYOUTS, paddleSpeed, trainingSpeed } from './ps-job.ts'
import { fleetrunTimes } from './ps-launch.ts'
import { growth, requestTimes, storeSpeed } from './ps-server.ts'
import { median } from './tools.ts'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '400000' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true },
    mode: { type: 'string', default: 'async' },
    // Of the accuracy: which modes, on which data, with which keys set otherwise.
    modes: { type: 'string', default: 'async,half_async,geo' },
    'data-seed': { type: 'string', default: '1' },
    set: { type: 'string', multiple: true, default: [] },
    repeats: { type: 'string', default: '400' },
    'table-rows': { type: 'string', default: '10000000' },
    // A Python with paddlepaddle 2.6.2 (its fleetrun stands beside it), and paddle_dnn.py.
    paddle: { type: 'string' },
    script: { type: 'string' },
  },
})

const rows = Number(options.rows)
const PARTS: Readonly<Record<string, () => Promise<object>>> = {
  ...Object.fromEntries(PS_LAYOUTS.map((layout) => [layout.name, () => speed(layout)])),
  'start and end of a job': () => fleetrunTimes(rows / 10),
  'requests over shared memory': () => requestTimes('shared memory', Number(options.repeats)),
  'requests over TCP': () => requestTimes('TCP', Number(options.repeats)),
  'rows of a shard thread': storeSpeed,
  growth: () => growth(Number(options['table-rows'])),
  'accuracy of 2 workers': () =>
    accuracyByMode(rows, options.modes.split(','), { dataSeed: Number(options['data-seed']), set: options.set }),
}

for (const [name, measure] of Object.entries(PARTS)) {
  if (options.only && !options.only.some((part) => name.includes(part))) continue
  console.log(JSON.stringify({ name, ...(await measure()) }))
}
process.exit(0)

/** Rounds of both are interleaved, so that a slow spell of the machine hits both alike. */
async function speed(layout: (typeof PS_LAYOUTS)[number]) {
  const { paddle, script, mode } = options
  const ours: Awaited<ReturnType<typeof trainingSpeed>>[] = []
  const theirs: number[] = []
  for (let round = 0; round < Number(options.rounds); round++) {
    ours.push(await trainingSpeed({ ...layout, rows, mode, seed: 12345 }))
    if (paddle && script) theirs.push(await paddleSpeed({ ...layout, rows, mode, paddle, script }))
  }
  const rate = median(ours.map(({ samplesPerSecond }) => samplesPerSecond))
  return {
    mode,
    ...layout,
    ...ours.at(-1),
    samplesPerSecond: rate,
    rounds: ours.map(({ samplesPerSecond }) => samplesPerSecond),
    ...(theirs.length > 0 ? { paddle: median(theirs), paddleRounds: theirs, ratio: rate / median(theirs) } : {}),
  }
}
