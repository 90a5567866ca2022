/** @file Writes the training step of models/rank/dnn as ONNX: what bench/limit.mjs and bench/limit.py run. `step-graph.ts OUT` */
import { writeFileSync } from 'node:fs'
import { loadConfig } from '../src/base/config/index.ts'
import { toOnnx } from '../src/graph/onnx/index.ts'
import { loadModel } from '../src/model/index.ts'
import { at } from './tools.ts'

const config = loadConfig({ path: at('models', 'rank', 'dnn', 'config.yaml') })
writeFileSync(process.argv[2]!, toOnnx((await loadModel(config)).train))
