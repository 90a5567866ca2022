/** @file vitest's reporter for `npm run test:stress`: what became of each file is noted as soon as it ends, so that a stop loses what runs then and no more. */
import { relative } from 'node:path'
import { root } from './setup.mjs'
import { addRun } from './stress-state.mjs'

export default class StressReporter {
  onTestModuleEnd(module) {
    const failed = [...module.children.allTests('failed')].map((test) => test.fullName)
    addRun(relative(root, module.moduleId), {
      seconds: Math.round(module.diagnostic().duration / 1000),
      failed: !['passed', 'skipped'].includes(module.state()),
      names: failed,
    })
  }
}
