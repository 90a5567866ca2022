/** @file The public face of metric/. */
export * from './auc.ts'
export * from './metric.ts'
export * from './report.ts'
