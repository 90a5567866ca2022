/** @file The yaml blocks of a text, and the parser that each of them is for. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseBackend, parseRunConfig } from '../../src/base/config/index.ts'

export const FIXTURE = readFileSync(fileURLToPath(new URL('distributed.fixture.md', import.meta.url)), 'utf8')

export function yamlBlocks(text: string): readonly string[] {
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map((match) => match[1]!)
}

export const isBackend = (block: string) => /^backend:/m.test(block)

/** The config for one machine: the first block. */
export const singleMachine = (text: string) => yamlBlocks(text)[0]!

export function parseBlock(block: string) {
  if (isBackend(block)) return parseBackend('backend.yaml', block)
  return parse(block)
}

export const parse = (text: string, cwd = '/job') =>
  parseRunConfig({ file: 'config.yaml', text, absolute: `${cwd}/config.yaml`, cwd })
