import { type BlockingGroup, type Operations } from '../../src/training/collective/index.ts'

type Cases = Readonly<Record<string, (group: BlockingGroup | Operations<'promise'>) => Promise<Uint8Array | undefined>>>

export const cases: Cases
export const someCases: Cases
