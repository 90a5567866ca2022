/**
 * @file What can be measured over batches and merged over threads and workers: AUC, means, ratios, reports.
 * Plain data and arithmetic: knows nothing of graphs or of who prints.
 */
export * from './auc.ts'
export * from './calibration.ts'
export * from './grouped-auc.ts'
export * from './metric.ts'
export * from './ranking.ts'
export * from './report.ts'
