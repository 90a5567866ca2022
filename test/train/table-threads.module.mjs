/** @file What a test's worker needs of the built package, in one import. */
export { optimizer, stepFactors } from '../../dist/weights/optim/index.js'
export { SparseTable } from '../../dist/weights/table/index.js'
