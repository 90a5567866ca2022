/** @file Asks a saved pass for a score:  oarfish exec prediction.ts output/pass-00009 [--config_args=A=B,...] [USER MOVIE] */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { openPassPredictor } from 'oarfish/trainer'
import { inputTypesOf, type Meta, valuesOf } from './common_utils.ts'

const given = process.argv.slice(2)
/** As the pass was trained with; the configuration needs them to describe the same network. */
const own = given.find((word) => word.startsWith('--config_args='))?.slice('--config_args='.length)
const [model, ...asked] = given.filter((word) => !word.startsWith('--config_args='))
if (model === undefined || (asked.length !== 0 && asked.length !== 2)) {
  console.error('usage: oarfish exec prediction.ts output/pass-00009 [--config_args=A=B,...] [USER MOVIE]')
  process.exit(2)
}
const meta = JSON.parse(readFileSync('data/meta.json', 'utf8')) as Meta
const { rating: _, ...inputTypes } = inputTypesOf(meta)
const predictor = await openPassPredictor({
  config: 'trainer_config.ts',
  configArgs: ['is_predict=1', own].filter(Boolean).join(','),
  model,
  inputTypes,
})

if (asked.length === 2) await score(asked[0]!, asked[1]!)
else {
  const input = createInterface({ input: process.stdin, output: process.stdout })
  const user = await input.question('Input user_id: ')
  const movie = await input.question('Input movie_id: ')
  input.close()
  await score(user, movie)
}
await predictor.close()

async function score(user: string, movie: string): Promise<void> {
  const { similarity } = await predictor.predict([{ ...valuesOf(meta.movie, movie), ...valuesOf(meta.user, user) }])
  console.log(`Prediction Score is ${((similarity![0]! + 5) / 2).toFixed(4)}`)
}
