/** @file What goes wrong in programs that use Fleet, in Paddle's words where it has some. */
import { errorsOf, UserError } from '../../base/util/index.ts'

export function notInitialized(call: string): UserError {
  return new UserError(`fleet.${call}() was called before fleet.init()`, {
    code: 'FLEET_INIT',
    hint: 'call fleet.init(new PaddleCloudRoleMaker()) at the beginning of the program',
  })
}

export function notMinimized(call: string): UserError {
  return new UserError(`Fleet can not find suitable runtime handler: fleet.${call}() was called before minimize()`, {
    code: 'FLEET_NO_PROGRAM',
    hint: 'optimizer = fleet.distributedOptimizer(optimizer, strategy); optimizer.minimize(loss); then the server or worker calls',
  })
}

export function twoPrograms(): UserError {
  return new UserError('minimize() was called twice for one fleet, and a job trains one program', {
    code: 'FLEET_NO_PROGRAM',
    hint: 'minimize the sum of the losses, or call fleet.init() anew for another program',
  })
}

export function notConnected(call: string): UserError {
  return new UserError(`fleet.${call}() needs the servers, and this worker is not connected to them`, {
    code: 'FLEET_NOT_CONNECTED',
    hint: 'call await fleet.initWorker() first, and fleet.stopWorker() last',
  })
}

export function workerFailed(rank: number, code: number): UserError {
  return new UserError(`worker[${rank}] has failed: its program ended with exit code ${code}`, {
    code: 'FLEET_WORKER_FAILED',
    hint: `see the log of worker[${rank}]`,
  })
}

export function wrongRole(call: string, needed: 'server' | 'worker'): UserError {
  return new UserError(`fleet.${call}() is for a ${needed}, and this process is none`, {
    code: 'FLEET_ROLE',
    hint: `write if (fleet.is${needed === 'server' ? 'Server' : 'Worker'}()) { await fleet.${call}() }`,
  })
}

export function noRoleMaker(given: unknown): UserError {
  return new UserError(
    `role_maker should be subclass of RoleMakerBase, but got ${given === null ? 'null' : typeof given}`,
    {
      code: 'FLEET_ROLE',
      hint: 'pass new PaddleCloudRoleMaker() or new UserDefinedRoleMaker({...}), or nothing',
    },
  )
}

export function collective(): UserError {
  return new UserError('fleet.init({ isCollective: true }): Fleet here is the parameter server', {
    code: 'FLEET_COLLECTIVE',
    hint: 'for collective training set runner.use_fleet in the yaml',
  })
}

export function noOptimizer(given: unknown): UserError {
  return new UserError(`distributedOptimizer: expected an optimizer, got ${JSON.stringify(given) ?? String(given)}`, {
    code: 'FLEET_OPTIMIZER',
    hint: 'fleet.distributedOptimizer(new fluid.optimizer.SGD({ learningRate: 1e-4 }), strategy)',
  })
}

export const strategyError = errorsOf('FLEET_STRATEGY')
export const argumentError = errorsOf('FLEET_ARGUMENT')
