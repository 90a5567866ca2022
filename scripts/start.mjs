/** @file `npm start`: from a fresh clone to a trained and evaluated model on the bundled sample. */
import { at, install, node, step } from './setup.mjs'

const NEXT = `
What to try next
  a smaller net       node bin/oarfish.js train -m models/rank/dnn/config.yaml -o runner.epochs=1 'hyper_parameters.fc_sizes=[64,32]'
  saved epochs again  node bin/oarfish.js infer -m models/rank/dnn/config.yaml
  check, not train    node bin/oarfish.js check -m models/rank/dnn/config.yaml --explain
  more data           node bin/oarfish.js data criteo-like --rows 400000 --out models/rank/dnn/data/criteo_like
                      node bin/oarfish.js train -m models/rank/dnn/config_bigdata.yaml
  your own layers     change models/rank/dnn/model.ts and train again; README.md has a model from scratch
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
