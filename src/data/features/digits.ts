/** @file Texts that are whole numbers, without a text made of a number or a bigint made of a text. */

/** Digits that a double holds exactly. */
export const EXACT_DIGITS = 15

/** The number that a short text of digits is; -1 for any other text. */
export function exactDigits(text: string): number {
  if (text.length === 0 || text.length > EXACT_DIGITS) return -1
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return -1
    value = 10 * value + digit
  }
  return value
}
