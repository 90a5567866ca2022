/** @file The same histories to evaluate on: the last item of each is hidden. */
import { RecDataset as Training } from './bert4rec_reader.ts'

export class RecDataset extends Training {
  protected override readonly evaluates = true
}
