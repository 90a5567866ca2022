/**
 * @file An S3 server for tests: s3rver from the registry in .cache/s3, fetched once and reused. Prints the path of its module; where it cannot be
 * had, says on stderr why and exits 1.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { at } from './setup.mjs'

const VERSION = '3.7.1'
const folder = at('.cache', 's3')
const server = join(folder, 'node_modules', 's3rver', 'lib', 's3rver.js')

if (!existsSync(server)) {
  mkdirSync(folder, { recursive: true })
  const flags = ['--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
  const { status, stderr } = spawnSync('npm', ['install', ...flags, `s3rver@${VERSION}`], { encoding: 'utf8' })
  if (status !== 0) {
    console.error(
      `Tests of S3 lack their server: npm must reach a registry that has s3rver (${stderr?.trim().split('\n')[0]}).`,
    )
    process.exit(1)
  }
}
console.log(server)
