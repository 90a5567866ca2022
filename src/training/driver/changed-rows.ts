/** @file Which rows of this process's tables go into the next cut. */
import type { LocalParams } from '../../weights/params/index.ts'
import { beginParts } from '../../weights/snapshot/index.ts'
import type { Cut } from './cut-writer.ts'

/** All its tables, or those with these numbers, as parts of this number. */
export function rowsHere(
  { tables }: LocalParams,
  number = 0,
  numbers: readonly number[] = [...tables.keys()],
): Pick<Cut, 'begin' | 'hasLostRows'> {
  const own = numbers.map((n) => [n, tables[n]!] as const)
  return {
    begin: (aside, changed) => beginParts({ aside, number, tables: own, changed }),
    hasLostRows: own.some(([, table]) => table.isChangedWholly),
  }
}

/** What has changed so far is kept elsewhere. */
export async function forgetChanges({ tables }: LocalParams): Promise<void> {
  for (const table of tables) table.forgetChanges()
}
