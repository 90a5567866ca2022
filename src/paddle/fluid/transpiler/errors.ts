/** @file What a transpiler refuses, and what its servers say of trainers, in words. */
import { errorsOf, UserError } from '../../../base/util/index.ts'

export const transpilerError = errorsOf('FLUID_TRANSPILER')

/** A sync job cannot go on: every step needs all trainers. */
export function trainerGone(trainer: number, cause: Error): UserError {
  return new UserError(
    `trainer[${trainer}] ended without exe.close(), and a sync job cannot go on without it: ${cause.message}`,
    {
      code: 'FLUID_TRAINER_GONE',
      hint: `see what trainer[${trainer}] printed; every trainer calls exe.close() when it is done`,
      cause,
    },
  )
}
