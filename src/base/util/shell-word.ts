/** @file Words of command lines that a POSIX shell reads. */

/** One word, whatever it holds; quotes only where they are needed. */
export const shellWord = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : quoted(text))

/** The same in quotes, for scripts that people edit. */
export const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

export const shellLine = (words: readonly string[]) => words.map(shellWord).join(' ')
