import type { BlockingGroup, Operations } from '../../src/collective/index.ts'

type Cases = Readonly<Record<string, (group: BlockingGroup | Operations<'promise'>) => Promise<Uint8Array | undefined>>>

export const cases: Cases
export const someCases: Cases
