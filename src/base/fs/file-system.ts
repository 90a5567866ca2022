/** @file The one interface to files, wherever they lie. It knows paths and bytes, nothing of formats. */

/** A file opened for reading. */
export interface ReadFile {
  readonly bytes: number
  /** Fills `target` from byte `position` on; returns how many bytes there were (fewer only at the end). */
  read(target: Uint8Array, position: number): Promise<number>
  close(): Promise<void>
}

export interface FileSystem {
  /** Paths of the files in a folder (not in its subfolders), in code-unit order. Throws as Node's fs does: ENOENT, ENOTDIR, EACCES. */
  list(folder: string): Promise<readonly string[]>
  /** Size of a file in bytes, at once: file systems far away know it from list(). */
  size(path: string): number
  open(path: string): Promise<ReadFile>
}
