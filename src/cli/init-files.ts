/** @file The files of `oarfish init`: a small project whose model learns, to be changed by its user. Pure. */
import { createRng, deriveSeed, type Rng } from '../base/util/index.ts'

export interface ProjectOptions {
  readonly name: string
  /** Where this package lies, for package.json. */
  readonly packageRoot: string
  /** docs/config.schema.json. */
  readonly schema: string
}

/** Path to content; what an editor, npm and oarfish need, and nothing that has to be installed first. */
export function projectFiles({ name, packageRoot, schema }: ProjectOptions): Readonly<Record<string, string>> {
  const manifest = { name, private: true, type: 'module', dependencies: { oarfish: `file:${packageRoot}` } }
  return {
    'config.yaml': CONFIG,
    'model.ts': MODEL,
    'reader.ts': READER,
    'data/train/part-0': samples('train', 6000),
    'data/test/part-0': samples('test', 2000),
    'tsconfig.json': `${JSON.stringify(TSCONFIG, undefined, 2)}\n`,
    'config.schema.json': schema,
    '.npmrc': 'ignore-scripts=true\n',
    '.gitignore': 'node_modules\noutput\nruns\n',
    'package.json': `${JSON.stringify(manifest, undefined, 2)}\n`,
  }
}

const CONFIG = `# yaml-language-server: $schema=./config.schema.json
# Every key: docs/reference/config.md of the package. Change one for a run: oarfish train -m config.yaml -o runner.epochs=2
runner:
  train_data_dir: "data/train"
  test_data_dir: "data/test"
  train_batch_size: 64
  infer_batch_size: 256
  epochs: 3
  print_interval: 50
  use_auc: True
  model_save_path: "output"

hyper_parameters:
  learning_rate: 0.003
  embedding_dim: 8
  layers: [32]
`

const MODEL = `/** How likely is a click? Embeddings of the sparse inputs beside the price, through a small network. */
import { defineModel, metric, optimizer, z } from 'oarfish'
import { concat, mean, sigmoid } from 'oarfish/nn'
import * as nn from 'oarfish/nn'

export default defineModel({
  // What config.yaml may set under hyper_parameters; a wrong key or value is reported with its line.
  hyperParameters: {
    learning_rate: z.number().positive(),
    embedding_dim: z.int().positive(),
    layers: z.array(z.int().positive()).min(1),
  },

  // What a sample has, by the names that reader.ts gives.
  inputs: ({ label, sparse, dense }) => ({
    click: label('click'),
    slots: [sparse('age'), sparse('genre'), sparse('item'), sparse('hour')],
    price: dense('price', 1),
  }),

  net({ click, slots, price }, { embedding_dim, layers }) {
    const rows = nn.embedding(slots, { name: 'embedding', dim: embedding_dim }) // [B, 4 * dim]
    const logit = nn.mlp(concat([rows, price], 1), { name: 'fc', sizes: [...layers, 1] }) // [B, 1]
    return { loss: mean(nn.sigmoidCrossEntropy(logit, click)), outputs: { predict: sigmoid(logit) } }
  },

  metrics: ({ outputs: { predict } }, { click }) => ({ auc: metric.auc(predict, click) }),

  optimizer: ({ learning_rate }) => optimizer.adam({ learningRate: learning_rate, lazy: true }),
})
`

const READER = `/** Reads lines of data/: click, age group, genre, item, hour and price, divided by commas. */
import { BaseRecDataset } from 'oarfish'

export class RecDataset extends BaseRecDataset {
  async *[Symbol.asyncIterator]() {
    for await (const line of this.lines()) {
      const [click, age, genre, item, hour, price] = line.split(',')
      // Signs are any whole numbers from 0 on; one table holds those of all inputs, so each input has a range of its own.
      yield {
        click: [Number(click)],
        age: [100 + Number(age)],
        genre: [200 + Number(genre)],
        item: [1000 + Number(item)],
        hour: [300 + Number(hour)],
        price: [Number(price) / 100],
      }
    }
  }
}
`

const TSCONFIG = {
  compilerOptions: {
    target: 'ES2023',
    module: 'NodeNext',
    moduleResolution: 'NodeNext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  },
  include: ['*.ts'],
}

const COUNTS = { age: 6, genre: 12, item: 80, hour: 24 }

/** Clicks of a hidden taste: of age groups for genres, of items, of evenings, and of low prices. The same for everybody. */
function samples(part: 'train' | 'test', rows: number): string {
  const taste = tasteOf(createRng(deriveSeed(7, 'taste')))
  const rng = createRng(deriveSeed(7, part))
  const below = (n: number) => Math.floor(rng.uniform() * n)
  const lines = Array.from({ length: rows }, () => {
    const [age, genre, item, hour] = [below(COUNTS.age), below(COUNTS.genre), below(COUNTS.item), below(COUNTS.hour)]
    const price = below(100)
    const logit = taste(age, genre, item) + (hour >= 18 ? 0.6 : -0.4) - price / 60
    const click = rng.uniform() < 1 / (1 + Math.exp(-logit)) ? 1 : 0
    return [click, age, genre, item, hour, price].join(',')
  })
  return `${lines.join('\n')}\n`
}

function tasteOf(rng: Rng): (age: number, genre: number, item: number) => number {
  const normals = (length: number, scale: number) => Array.from({ length }, () => scale * rng.normal())
  const [pairs, items] = [normals(COUNTS.age * COUNTS.genre, 1.2), normals(COUNTS.item, 0.5)]
  return (age, genre, item) => pairs[age * COUNTS.genre + genre]! + items[item]!
}
