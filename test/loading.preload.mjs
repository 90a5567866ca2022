/** @file Of test/loading.test.ts, for `node --import`: writes down which packages a process and its threads load, imported or required. */
import { appendFileSync } from 'node:fs'
import Module, { register } from 'node:module'

const HOOKS = `
  import { appendFileSync } from 'node:fs'
  export async function resolve(specifier, context, next) {
    const found = await next(specifier, context)
    appendFileSync(process.env.OARFISH_TEST_LOADED, found.url + '\\n')
    return found
  }`
register(`data:text/javascript,${encodeURIComponent(HOOKS)}`)

const load = Module._load
Module._load = function (name, ...rest) {
  if (!name.startsWith('node:'))
    appendFileSync(process.env.OARFISH_TEST_LOADED, `${Module._resolveFilename(name, ...rest)}\n`)
  return load.call(this, name, ...rest)
}
