/** @file What a fluid program may get wrong, in words. */
import { UserError } from '../../base/util/index.ts'

export function usedBothWays(name: string): UserError {
  return new UserError(
    `data "${name}" is looked up in a table and also used as numbers: it is read in one way or the other`,
    {
      code: 'FLUID_DATA',
      hint: `declare it twice under two names, or embed it with isSparse: false: fluid.layers.embedding({ input: ${name}, size, isSparse: false })`,
    },
  )
}

export function notNumbers(name: string, what: string, hint: string): UserError {
  return new UserError(`"${name}" is ${what}, not a tensor that a layer can take`, { code: 'FLUID_INPUT', hint })
}

export function otherProgram(a: string, b: string): UserError {
  return new UserError(`"${a}" and "${b}" belong to two programs`, {
    code: 'FLUID_INPUT',
    hint: 'build both inside the same fluid.programGuard(program, ...)',
  })
}

export function notStarted(parameter: string): UserError {
  return new UserError(`the parameter "${parameter}" is not initialized: the startup program was not run`, {
    code: 'FLUID_STARTUP',
    hint: 'await exe.run(fluid.defaultStartupProgram())',
  })
}

export function changedSinceStartup(parameter: string): UserError {
  return new UserError(`"${parameter}" was added to the program after its startup program was run`, {
    code: 'FLUID_STARTUP',
    hint: 'call all layers and minimize first, then await exe.run(fluid.defaultStartupProgram())',
  })
}

export function noOptimizer(what: string): UserError {
  return new UserError(`${what}: the program has no optimizer, so there is nothing to train`, {
    code: 'FLUID_OPTIMIZER',
    hint: 'new fluid.optimizer.SGD({ learningRate: 0.001 }).minimize(loss)',
  })
}

export function feedMissing(name: string, given: readonly string[]): UserError {
  return new UserError(
    `the program needs data "${name}", which the feed does not have; it has ${given.join(', ') || 'nothing'}`,
    { code: 'FLUID_FEED', hint: `await exe.run({ program, feed: { ${name}: [...] }, fetchList })` },
  )
}

export function feedSize(name: string, got: number, wanted: string): UserError {
  return new UserError(`the feed of "${name}" has ${got} values; ${wanted}`, {
    code: 'FLUID_FEED',
    hint: 'give every data as many samples as the others, and each sample as many values as its shape says',
  })
}

export function trainedBothWays(before: string, now: string): UserError {
  return new UserError(`${now} was called for a program on servers that ${before} has trained`, {
    code: 'FLUID_TRAINING',
    hint: 'train it with one of them; program.clone({ forTest: true }) may be run with a feed at any time',
  })
}

export function closed(): UserError {
  return new UserError('this Executor was closed: its servers know that the trainer is done', {
    code: 'FLUID_CLOSED',
    hint: 'call exe.close() after the last run',
  })
}
