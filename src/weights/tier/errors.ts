/** @file What a disk says when it cannot keep rows, in words. */
import { UserError } from '../../base/util/index.ts'

export function tierFull(
  { folder, table }: { readonly folder: string; readonly table: string },
  cause: unknown,
): UserError {
  return new UserError(`${folder}: there is no room left on this disk for rows of table ${table}.`, {
    code: 'TIER_FULL',
    hint: `make room there, or name a folder on a larger disk (table_parameters.${table}.ssd_path), then go on from the last checkpoint, which is whole`,
    cause,
  })
}

export function tierRead(place: string, cause: unknown): UserError {
  return new UserError(`${place}: the disk failed (${(cause as Error).message}).`, {
    code: 'TIER_DISK',
    hint: 'dmesg tells what is wrong with the disk; name a folder on another one (table_parameters.<table>.ssd_path), then go on from the last checkpoint, which is whole',
    cause,
  })
}
