/** @file Files of another file system, fetched to this host before they are read and kept while the process runs. */
import { spawn } from 'node:child_process'
import { createWriteStream, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { remoteFiles } from '../../base/fs/index.ts'
import { makeOwnFolder, UserError } from '../../base/util/index.ts'

/** Prints a file. */
type Source = (path: string) => AsyncIterable<Uint8Array>

export class RemoteCopies {
  #source: Source | undefined
  #folder: string | undefined
  readonly #copies = new Map<string, Promise<string>>()

  /** Files lie in this file system. */
  from(fsName: string, fsUgi: string): void {
    const files = remoteFiles(fsName, { ugi: fsUgi })
    // The list may name files with or without their file system.
    this.#source = (path) => files.read(path.startsWith(fsName) ? path.slice(fsName.length) : path)
    this.#copies.clear()
  }

  /** Files are what this command prints. */
  by(command: string): void {
    this.#source = (path) => printed(command, path)
    this.#copies.clear()
  }

  /** Where the files lie on this host; each is fetched once. */
  async fetch(files: readonly string[]): Promise<readonly string[]> {
    const source = this.#source
    if (!source) return files
    return Promise.all(
      files.map((file, i) => {
        const known = this.#copies.get(file) ?? this.#copy(source, file, i)
        this.#copies.set(file, known)
        return known
      }),
    )
  }

  async #copy(source: Source, file: string, number: number): Promise<string> {
    const local = join(this.#scratch(), `${number}-${basename(file)}`)
    await pipeline(source(file), createWriteStream(local))
    return local
  }

  #scratch(): string {
    if (this.#folder) return this.#folder
    const folder = makeOwnFolder('files')
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    this.#folder = folder
    return folder
  }
}

async function* printed(command: string, path: string): AsyncGenerator<Uint8Array> {
  const child = spawn('sh', ['-c', `${command} "$0"`, path], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-1000)
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  yield* child.stdout as AsyncIterable<Uint8Array>
  const code = await ended
  if (code !== 0)
    throw new UserError(`the download command "${command}" ended with ${code} for ${path}: ${said.trim()}`, {
      code: 'FLUID_DATASET',
      hint: 'it is run with the file as its last argument and prints the content',
    })
}
