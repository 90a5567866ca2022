/** @file A sample that does not fit the slots, by its place in the frame. */
export class BadField extends Error {
  readonly sample: number

  constructor(sample: number, message: string) {
    super(message)
    this.sample = sample
  }
}
