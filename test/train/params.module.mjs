/** @file What a test's worker needs of the built package, in one import. */
export { LocalParams } from '../../dist/weights/params/index.js'
