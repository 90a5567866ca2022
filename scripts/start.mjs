/** @file `npm start`: from a fresh clone to a model that has learnt something: clicks are written, trained on and evaluated after each epoch. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { at, install, node, root, step } from './setup.mjs'

const CONFIG = 'models/rank/dnn/config_start.yaml'
const DATA = 'models/rank/dnn/data/start_all'

const NEXT = `
What to try next
  your own project    node bin/oarfish.js init ../my-model
  a smaller net       node bin/oarfish.js train -m ${CONFIG} -o runner.epochs=1 'hyper_parameters.fc_sizes=[64,32]'
  saved epochs again  node bin/oarfish.js infer -m ${CONFIG}
  layers and sizes    node bin/oarfish.js model summary -m ${CONFIG}
  check, not train    node bin/oarfish.js check -m ${CONFIG} --explain
  your own layers     change models/rank/dnn/model.ts and train again; README.md has a model from scratch
`

process.exitCode = await main()

async function main() {
  const begin = performance.now()
  const ready = (await install()) && (await step('build', async () => (await node(at('scripts', 'build.mjs'))) === 0))
  if (!ready || !(await writeData())) return 1
  const { code, aucs } = await train()
  if (code !== 0) return code
  console.log(whatItLearnt(aucs))
  console.log(`All of it took ${((performance.now() - begin) / 1000).toFixed(0)} s.\n${NEXT}`)
  return 0
}

/** Kept for the next time: the rows are the same ones. */
async function writeData() {
  if (existsSync(at(DATA, 'test/part-000'))) return true
  const args = ['data', 'criteo-like', '--rows', '100000', '--parts', '4', '--force', '--out', DATA]
  return await step(`oarfish ${args.join(' ')}`, async () => (await node(at('bin', 'oarfish.js'), args)) === 0)
}

/** Passes the log lines through, and keeps the test AUC of each epoch. */
function train() {
  console.log(`> oarfish train -m ${CONFIG}`)
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [at('bin', 'oarfish.js'), 'train', '-m', CONFIG], {
      cwd: root,
      stdio: ['inherit', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part) => {
      process.stdout.write(part)
      text += part
    })
    // Ctrl+C reaches the child too: it saves and ends by itself.
    process.on('SIGINT', () => undefined)
    child.on('error', reject)
    child.on('close', (code) => {
      const found = text.matchAll(/infer epoch: \d+ done, .*?\bauc: ([\d.]+)/g)
      resolve({ code: code ?? 130, aucs: Array.from(found, ([, auc]) => Number(auc)) })
    })
  })
}

function whatItLearnt(aucs) {
  const epochs = aucs.map(
    (auc, epoch) => `  epoch ${epoch}  ${auc.toFixed(4)}  ${'#'.repeat(Math.round((auc - 0.5) * 200))}`,
  )
  return `
Test AUC on 10,000 clicks that it was not trained on (chance has 0.5; the hidden model that drew the clicks 0.80):
${epochs.join('\n')}`
}
