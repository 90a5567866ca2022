/** @file What a test's worker needs of the built package, in one import. */
export { optimizer, stepFactors } from '../../dist/optim/index.js'
export { SparseTable } from '../../dist/table/index.js'
