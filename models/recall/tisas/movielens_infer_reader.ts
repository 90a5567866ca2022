/** @file The same users to evaluate on: the last item of each, beside items drawn at random. */
import { RecDataset as Training } from './movielens_reader.ts'

export class RecDataset extends Training {
  protected override readonly evaluates = true
}
