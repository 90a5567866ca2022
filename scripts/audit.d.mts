export function lockFindings(lock: { readonly packages: Readonly<Record<string, object>> }): string[]
