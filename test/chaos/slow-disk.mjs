/** @file Loaded by processes of a run on a slow disk: everything that is written below a folder takes so much longer. CHAOS_SLOW_DISK is MS:FOLDER. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const [, ms, folder] = /^(\d+):(.*)$/.exec(process.env.CHAOS_SLOW_DISK ?? '') ?? []

const later = () => new Promise((resolve) => setTimeout(resolve, Number(ms)))
const now = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms))

/** A handle whose writes take long. */
function slowed(handle) {
  for (const name of ['write', 'writev', 'writeFile', 'sync', 'datasync']) {
    const own = handle[name].bind(handle)
    handle[name] = async (...words) => {
      await later()
      return own(...words)
    }
  }
  return handle
}

if (folder !== undefined) {
  const below = (path) => String(path).startsWith(folder)
  const { open, rename, writeFile } = fs.promises
  fs.promises.open = async (path, ...rest) => {
    const handle = await open(path, ...rest)
    return below(path) ? slowed(handle) : handle
  }
  for (const [name, own] of Object.entries({ rename, writeFile }))
    fs.promises[name] = async (path, ...rest) => {
      if (below(path)) await later()
      return own(path, ...rest)
    }
  const { openSync, writeSync, fsyncSync } = fs
  const slow = new Set()
  fs.openSync = (path, ...rest) => {
    const fd = openSync(path, ...rest)
    if (below(path)) slow.add(fd)
    else slow.delete(fd)
    return fd
  }
  for (const [name, own] of Object.entries({ writeSync, fsyncSync }))
    fs[name] = (fd, ...rest) => {
      if (slow.has(fd)) now()
      return own(fd, ...rest)
    }
  syncBuiltinESMExports()
}
