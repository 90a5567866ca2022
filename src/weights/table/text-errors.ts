/** @file What can be wrong with Paddle's table files, in words. Each code has a section in docs/reference/errors.md. */
import { UserError } from '../../base/util/index.ts'

export function noTable(folder: string, number: number): UserError {
  return new UserError(`there is no table ${tableFolder(number)} in ${folder}`, {
    code: 'PADDLE_FILES_MISSING',
    hint: 'name the folder that holds 000, 001, ... as save_persistables wrote it; sparse tables are numbered from 000 in the order of the model, the dense one comes after them',
  })
}

export function partMissing(folder: string, missing: readonly number[], count: number): UserError {
  const shown = missing.slice(0, 5).map((shard) => `part-*-${String(shard).padStart(5, '0')}`)
  const more = missing.length > shown.length ? ` and ${missing.length - shown.length} more` : ''
  return new UserError(`${folder}: of ${count} shards these have no file: ${shown.join(', ')}${more}`, {
    code: 'PADDLE_FILES_MISSING',
    hint: 'copy the whole folder: every server writes the files of its own shards, also empty ones',
  })
}

export function otherShards(folder: string, found: number, shards: number): UserError {
  return new UserError(`${folder} has ${found} shards, shard_num is ${shards}`, {
    code: 'PADDLE_FILES_SHARDS',
    hint: `set table_parameters.*.shard_num: ${found}; the number of servers may change, that of shards may not`,
  })
}

export function wrongShard(file: string, line: number, sign: bigint, shard: number, shards: number): UserError {
  return new UserError(
    `sign ${sign} is of shard ${Number(sign % BigInt(shards))} of ${shards}, but stands in the file of shard ${shard}`,
    {
      code: 'PADDLE_FILES_SHARDS',
      where: { file, line },
      hint: 'this file was written with another shard_num: do not mix files of different tables',
    },
  )
}

export function twice(folder: string, shard: number): UserError {
  return new UserError(`${folder}: shard ${shard} has two files`, {
    code: 'PADDLE_FILES_SHARDS',
    hint: 'files of two saves lie in one folder: keep those of one',
  })
}

export function badLine(file: string, line: number, problem: string): UserError {
  return new UserError(`this line of a table file cannot be read: ${problem}`, {
    code: 'PADDLE_FILES_LINE',
    where: { file, line },
    hint: 'a line is a sign and its values; rule, embedx_dim and accessor_class in table_parameters must be those that wrote it',
  })
}

export function ambiguous(file: string, rules: readonly string[], count: number): UserError {
  return new UserError(`lines of ${count} values may be ${rules.join(' or ')}`, {
    code: 'PADDLE_FILES_LINE',
    where: { file, line: 1 },
    hint: 'say which in table_parameters: accessor.embed_sgd_param.name and embedx_sgd_param.name',
  })
}

export function damagedPart(file: string, cause: unknown): UserError {
  return new UserError(`this part of a table cannot be read: ${(cause as Error).message}`, {
    code: 'PADDLE_FILES_DAMAGED',
    where: { file },
    hint: 'copy the file again from where it came',
    cause,
  })
}

export function cannotSave(folder: string, cause: NodeJS.ErrnoException): UserError {
  return new UserError(`the table cannot be saved to ${folder}: ${cause.message}`, {
    code: 'PADDLE_FILES_WRITE',
    hint: 'name a folder that every server can write, with room for the table',
    cause,
  })
}

export const tableFolder = (number: number): string => String(number).padStart(3, '0')
