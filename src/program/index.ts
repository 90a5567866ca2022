/** @file The public face of program/: the IR, its builder and ops. */
export * from './builder.ts'
export * from './dim.ts'
export * from './functions.ts'
export * from './op.ts'
export * from './print.ts'
export * from './program.ts'
export { broadcast, SHAPE_RULES, ShapeError } from './shape-rules.ts'
export { verify } from './verify.ts'
