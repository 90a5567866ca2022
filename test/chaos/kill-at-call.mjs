/**
 * @file Loaded by a process (`node --import`) that is to die at its Nth call that changes a file system below a folder: CHAOS_KILL is N:FOLDER, or Nh:FOLDER to die in the middle
 * of the call. N = 0 never dies. CHAOS_FULL, N: at that call the disk is full. CHAOS_CALLS is a file that gets a line for each call; CHAOS_CLOCK, in milliseconds, is what the clock shows all the time.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const [, at, half, folder] = /^(\d+)(h?):(.*)$/.exec(process.env.CHAOS_KILL ?? '') ?? []
const { CHAOS_CALLS: calls, CHAOS_CLOCK: clock, CHAOS_FULL: full } = process.env
const raw = { ...fs }

if (clock !== undefined) {
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor(...words) {
      super(...(words.length === 0 ? [Number(clock)] : words))
    }
    static now = () => Number(clock)
  }
}

let count = 0
/** Before a call: counts it, and dies where it is the one. `partly` does half of it. */
function call(name, path, partly) {
  count++
  if (calls) raw.appendFileSync(calls, `${isMainThread ? '' : 'thread '}${name} ${path}\n`)
  if (count === Number(full) && isMainThread)
    throw Object.assign(new Error(`ENOSPC: no space left on device, ${name} '${path}'`), { code: 'ENOSPC' })
  if (count !== Number(at) || !isMainThread) return
  if (half) partly?.()
  process.kill(process.pid, 'SIGKILL')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) // nothing more of this process runs
}

const below = (path) => typeof path === 'string' && path.startsWith(folder) && path !== calls
const writes = (flags) =>
  flags !== undefined && flags !== 'r' && flags !== 0 && !(typeof flags === 'number' && (flags & 3) === 0)
const halfOf = (data) =>
  typeof data === 'string' ? data.slice(0, data.length >> 1) : data?.subarray?.(0, data.length >> 1)

/** Removes the first file that is found: what a removal that was cut off may leave. */
function removeOne(path) {
  const stats = raw.statSync(path, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return false
  const [name] = raw.readdirSync(path)
  if (name === undefined) return false
  if (!removeOne(join(path, name))) raw.rmSync(join(path, name), { recursive: true })
  return true
}

const PARTLY = {
  rm: (path) => removeOne(path),
  writeFile: (path, data) => raw.writeFileSync(path, halfOf(data) ?? ''),
  appendFile: (path, data) => raw.appendFileSync(path, halfOf(data) ?? ''),
}
const BY_PATH = [
  'mkdir',
  'mkdtemp',
  'rename',
  'rm',
  'rmdir',
  'unlink',
  'link',
  'symlink',
  'writeFile',
  'appendFile',
  'chmod',
  'utimes',
  'truncate',
  'copyFile',
  'cp',
]
const BY_FILE = ['write', 'writev', 'fsync', 'fdatasync', 'ftruncate']

function watchPaths(target, suffix) {
  for (const name of BY_PATH) {
    const own = target[`${name}${suffix}`]
    if (!own) continue
    target[`${name}${suffix}`] = (path, ...rest) => {
      // The target of a link or a move may be the one below the folder.
      const named = [path, rest[0]].find(below)
      if (named !== undefined) call(name, String(path), () => PARTLY[name]?.(path, ...rest))
      return own.call(target, path, ...rest)
    }
  }
}

function watchHandle(handle, path) {
  for (const name of ['write', 'writev', 'writeFile', 'appendFile', 'sync', 'datasync', 'truncate']) {
    const own = handle[name].bind(handle)
    handle[name] = (data, ...rest) => {
      const partly = () => {
        const whole = Array.isArray(data) ? data[0] : data
        const [from = 0, length = whole?.length - from, position = null] = typeof whole === 'string' ? [] : rest
        if (typeof whole === 'string') raw.writeSync(handle.fd, halfOf(whole))
        else if (whole?.length) raw.writeSync(handle.fd, whole, from, length >> 1, position)
      }
      call(`file.${name}`, path, partly)
      return own(data, ...rest)
    }
  }
  return handle
}

function watchFiles() {
  const files = new Map()
  const { openSync, open } = raw
  fs.openSync = (path, flags, ...rest) => {
    if (below(path) && writes(flags)) call('open', path)
    const fd = openSync(path, flags, ...rest)
    if (below(path) && writes(flags)) files.set(fd, path)
    else files.delete(fd)
    return fd
  }
  fs.open = (path, flags, ...rest) => {
    if (below(path) && writes(flags)) call('open', path)
    const done = rest.pop()
    open(path, flags, ...rest, (error, fd) => {
      if (!error && below(path) && writes(flags)) files.set(fd, path)
      else files.delete(fd)
      done(error, fd)
    })
  }
  for (const name of BY_FILE)
    for (const suffix of ['', 'Sync']) {
      const own = raw[`${name}${suffix}`]
      fs[`${name}${suffix}`] = (fd, ...rest) => {
        if (files.has(fd)) call(name, files.get(fd))
        return own(fd, ...rest)
      }
    }
  const promised = fs.promises.open
  fs.promises.open = async (path, flags, ...rest) => {
    if (!below(path) || !writes(flags)) return await promised(path, flags, ...rest)
    call('open', path)
    return watchHandle(await promised(path, flags, ...rest), path)
  }
}

if (folder !== undefined) {
  for (const suffix of ['', 'Sync']) watchPaths(fs, suffix)
  watchPaths(fs.promises, '')
  watchFiles()
  syncBuiltinESMExports()
}
