/**
 * @file The graph as data: ops, symbolic dimensions, builder, shape rules, verifier, printer.
 * Knows nothing of weights, threads or files, nor of how a graph is run: imports util/ only.
 */

export * from './builder.ts'
export * from './dim.ts'
export * from './elementwise.ts'
export * from './labels.ts'
export * from './layout.ts'
export * from './op.ts'
export { axisOf, constant, count, iota, type Operand, tensorOf } from './operand.ts'
export * from './print.ts'
export * from './program.ts'
export * from './random.ts'
export * from './reduction.ts'
export { broadcast } from './shape-checks.ts'
export { SHAPE_RULES, type ShapeRules } from './shape-rules.ts'
export { neededSymbols, verify } from './verify.ts'
