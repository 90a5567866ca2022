/** @file Kubernetes' way to write amounts. Pure. */

/** `4`, `500m` or `1.5` as cores. */
export function cores(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+)(m|k)?$/.exec(text) ?? []
  const scale = { m: 0.001, k: 1000 }[unit] ?? 1
  return Number(number) * scale
}
