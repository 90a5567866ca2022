export function lacking(packages: Readonly<Record<string, string>>): string[]
export function installed(packages: Readonly<Record<string, string>>): string[]
