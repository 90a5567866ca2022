/** @file `npm start`: from a fresh clone to a trained and evaluated model on the bundled sample. */
import { at, install, node, step } from './setup.mjs'

const NEXT = `
What to try next
  node bin/oarfish.js train -m models/rank/dnn/config.yaml -o runner.epochs=3 hyper_parameters.optimizer.learning_rate=0.01
  node bin/oarfish.js check -m models/rank/dnn/config.yaml               validate a configuration without training
  node bin/oarfish.js data criteo-like --rows 400000 --out data/criteo   make a larger data set, then train on it with
  node bin/oarfish.js train -m models/rank/dnn/config.yaml -o runner.train_data_dir=$PWD/data/criteo/train runner.test_data_dir=$PWD/data/criteo/test
  models/rank/dnn/net.ts                                                 the model: change a layer, train again
`

process.exitCode = await main()

async function main() {
  const ready = (await install()) && (await step('build', async () => (await node(at('scripts', 'build.mjs'))) === 0))
  if (!ready) return 1
  console.log('> oarfish train -m models/rank/dnn/config.yaml')
  const code = await node(at('bin', 'oarfish.js'), ['train', '-m', 'models/rank/dnn/config.yaml'])
  if (code === 0) console.log(NEXT)
  return code
}
