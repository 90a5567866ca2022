/** @file PaddleRec's test files: the same, without a title that does not fit. */
export { RecDataset } from './bq_reader_train.ts'
