/** @file An index behind HTTP: what is found first, and how newer ones are taken up. */
import { findIndex, locateIndex } from '../recall/index.ts'
import { reloader } from './reload.ts'
import type { OpenedModel, OpenPool, ServeOptions } from './serve.ts'
import { watchFolder } from './watch.ts'

const INDEX_MS = 1000

export async function openIndexed(
  { index: path, pollMs = INDEX_MS, emit }: ServeOptions,
  open: OpenPool,
): Promise<OpenedModel | undefined> {
  if (path === undefined) return undefined
  const found = await locateIndex(path)
  const openAt = (folder: string) => open({ kind: 'index', folder })
  const pool = await openAt(found.folder)
  const { count, kind, model } = pool.loaded.index!.manifest
  return {
    pool,
    name: `the ${kind} index of ${count} items of epoch ${model.epoch} in ${found.folder}`,
    watch: (batcher, metrics) => {
      const onNew = reloader(openAt, { what: 'index', batcher, metrics, emit })
      return watchFolder({ find: () => findIndex(path), mark: found.mark, intervalMs: pollMs, onNew })
    },
    close: () => pool.close(),
  }
}
