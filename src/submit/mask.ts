/** @file Secrets in output: whatever is printed passes through here. */

/** A function that puts stars in the place of each of these values, also within longer text. */
export function maskOf(secrets: readonly (string | undefined)[]): (text: string) => string {
  // Longest first: a secret may be part of another.
  const known = [...new Set(secrets.filter((secret) => secret !== undefined && secret.length >= SHORTEST))].sort(
    (a, b) => b!.length - a!.length,
  ) as string[]
  return (text) => known.reduce((masked, secret) => masked.replaceAll(secret, '******'), text)
}

// A secret of one or two characters would blot out most of any text.
const SHORTEST = 3
