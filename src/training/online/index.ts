/**
 * @file Online training: days and passes, what is waited for, checkpoints, base and delta models, donefiles.
 * Knows nothing of how processes are started: the job that trains is handed in.
 */
export { daysOf } from './days.ts'
export { isOnline, type OnlineProcess, trainOnline } from './train-online.ts'
export { compareWithCheckpoints } from './verify-online.ts'
