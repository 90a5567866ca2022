/** @file Objects without their undefined values, for the few places where an absent key matters. */

/** `given` without the keys whose value is undefined. */
export function defined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}
