/** @file The same histories to evaluate on: the last item of each, beside items drawn at random. */
import { RecDataset as Training } from './sequence_reader.ts'

export class RecDataset extends Training {
  protected override readonly evaluates = true
}
