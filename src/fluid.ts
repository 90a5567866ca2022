/** @file `oarfish/fluid`: Paddle Fluid's way to write programs, as `import * as fluid from 'oarfish/fluid'`. Names are Paddle's. */
export * from './paddle/fluid/index.ts'
