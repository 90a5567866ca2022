/** @file A command that ends with an exit code of its own, after everything worth saying was printed. */

export class ExitCode extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`)
    this.name = 'ExitCode'
    this.exitCode = exitCode
  }
}
