/** @file The public face of optim/: optimizers and schedules as data, their reference arithmetic. */
export * from './optimizer.ts'
export * from './reference.ts'
export * from './schedule.ts'
