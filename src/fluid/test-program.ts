/** @file A program run to test it: no gradients, nothing updated, dropout off. It shares the weights of the one it was made from. */
import type { Program } from './program.ts'

export class TestProgram {
  readonly of: Program

  constructor(of: Program) {
    this.of = of
  }
}
