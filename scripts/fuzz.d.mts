export interface Finding {
  readonly number: number
  readonly what: string
  /** In base64. */
  readonly input?: string
}

export const TARGET_NAMES: readonly string[]
export function keptCases(name: string): string[]
export function runKept(name: string, file: string): Promise<Finding[]>
export function runCases(
  name: string,
  options: {
    readonly seed?: number
    readonly from?: number
    readonly to: number
    readonly onProgress?: (reached: number) => void
  },
): Promise<Finding[]>
