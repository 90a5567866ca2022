/** @file `npm run schedules [-- --schedules 100000 --seed 1]`: jobs on a virtual clock, whose messages are lost and late and whose processes die, in as many ways as asked for. */
import { runSource } from './run-source.mjs'
import { install } from './setup.mjs'

process.exitCode = (await install()) ? await runSource('test/schedules/main.ts', process.argv.slice(2)) : 1
