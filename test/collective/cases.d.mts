import type { BlockingGroup, Operations } from '../../src/collective/index.ts'

export const cases: Readonly<
  Record<string, (group: BlockingGroup | Operations<'promise'>) => Promise<Uint8Array | undefined>>
>
