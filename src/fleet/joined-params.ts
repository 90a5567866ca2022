/** @file Params that take part in training from their first push on: who only looks at weights is nobody that others wait for. */
import type { Params } from '../params/index.ts'

/** `join` is called once, before the first push. */
export function joinedParams(inner: Params, join: () => Promise<void>): Params {
  let joined: Promise<void> | undefined
  return {
    pull: (share, insert) => inner.pull(share, insert),
    ...(inner.refresh && { refresh: (share) => inner.refresh!(share) }),
    push: async (share) => {
      joined ??= join()
      await joined
      return inner.push(share)
    },
    flush: () => inner.flush(),
    close: () => inner.close(),
  }
}
