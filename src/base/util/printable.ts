/** @file Text of others on this one's terminal. */

/** A text that others wrote, for this one's terminal: without what would move the cursor or ring its bell. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it takes out
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '?')
}
