/** @file What a trainer_config.ts says beside its layers: how to train, what to read, arguments of the command line. */

import { defined } from '../../base/util/index.ts'
import { type Clip, type OptimizerSpec, optimizer, type Schedule } from '../../weights/optim/index.ts'
import { underWay } from './config-scope.ts'
import { providerError, settingsError } from './errors.ts'
import { isProvider } from './provider.ts'

/** Options of settings. */
export interface TrainerSettings {
  /** Samples of a step on each node: with n nodes a step has n times as many. */
  readonly batchSize: number
  /** For the sum of the gradients of a batch, as in the original: 0.1 / 128 with a batch of 128. @default 0.001 */
  readonly learningRate?: number
  /** optimizer.rmsprop(), .adam(), .momentum(), .adagrad(), .sgd(), .ftrl(). @default momentum 0, which is plain descent */
  readonly learningMethod?: OptimizerSpec
  /** L2 regularization: { l2: 8e-4 * batchSize }. @default none */
  readonly regularization?: { readonly l2: number }
  /** Gradients beyond it are cut. @default none */
  readonly gradientClippingThreshold?: number
  /** How the rate changes with the steps. @default it stays */
  readonly learningRateSchedule?: Schedule
}

/** How to train; called once. */
export function settings(given: TrainerSettings): void {
  const config = underWay('settings')
  if (config.settings) throw settingsError('settings() was called twice.', 'Leave one of the calls out.')
  const known = ['batchSize', 'learningRate', 'learningMethod', 'regularization', 'gradientClippingThreshold']
  const unknown = Object.keys(given).find((name) => ![...known, 'learningRateSchedule'].includes(name))
  if (unknown !== undefined)
    throw settingsError(`settings: there is no "${unknown}".`, `It has ${known.join(', ')}, learningRateSchedule.`)
  const { batchSize, learningRate = 1e-3, learningMethod = optimizer.sgd(), regularization } = given
  if (!Number.isSafeInteger(batchSize) || batchSize < 1)
    throw settingsError(`settings: batchSize must be a whole number from 1 on, got ${batchSize}.`, 'batchSize: 1600')
  checkPositive('learningRate', learningRate)
  if (typeof learningMethod !== 'object' || !(learningMethod.kind in optimizer))
    throw settingsError(
      `settings: learningMethod is ${JSON.stringify(learningMethod)}, which is no optimizer.`,
      `learningMethod: optimizer.rmsprop() (or ${Object.keys(optimizer).join(', ')})`,
    )
  if (regularization) checkPositive('regularization.l2', regularization.l2)
  const clip = clipOf(given.gradientClippingThreshold)
  config.settings = {
    batchSize,
    optimizer: {
      ...learningMethod,
      learningRate,
      ...defined({ l2: regularization?.l2, clip, schedule: given.learningRateSchedule }),
    },
  }
}

/** Which files are read: lists of their names, one a line, relative to the working folder; without a test list nothing is tested. */
export function defineDataSources(
  trainList: string,
  testList: string | null | undefined,
  provider: unknown,
  /** Given to init of the provider. */
  args: unknown = {},
): void {
  const config = underWay('defineDataSources')
  if (config.sources)
    throw providerError('defineDataSources() was called twice.', 'Name all files in one list, or leave a call out.')
  if (!isProvider(provider))
    throw providerError(
      'defineDataSources: the third argument is no data provider.',
      "import { process } from './dataprovider.ts', which is what provider({ init })(function* ...) returned",
    )
  config.sources = { trainList, testList: testList ?? undefined, provider, args }
}

/** The value of --config_args=name=value, as the kind of its default: text, a number, or true and false (also 1 and 0). */
export function getConfigArg<T extends string | number | boolean>(name: string, byDefault: T): T {
  const written = underWay('getConfigArg').args[name]
  if (written === undefined) return byDefault
  const value = READERS[typeof byDefault as keyof typeof READERS](written)
  if (value !== undefined) return value as T
  throw settingsError(
    `--config_args: ${name} must be a ${typeof byDefault}, got "${written}".`,
    `--config_args=${name}=${byDefault}`,
  )
}

const READERS = {
  string: (written: string) => written,
  number: (written: string) => (written !== '' && Number.isFinite(Number(written)) ? Number(written) : undefined),
  boolean: (written: string) => ({ '1': true, true: true, '0': false, false: false })[written.toLowerCase()],
} as const

function clipOf(threshold: number | undefined): Clip | undefined {
  if (threshold === undefined) return undefined
  checkPositive('gradientClippingThreshold', threshold)
  return { kind: 'value', max: threshold }
}

function checkPositive(name: string, value: number): void {
  if (Number.isFinite(value) && value > 0) return
  throw settingsError(`settings: ${name} must be a number above 0, got ${value}.`, `${name}: 0.001`)
}
