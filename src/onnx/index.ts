/** @file The public face of onnx/: a program as an ONNX model. */
export { toOnnx, toOnnxModel } from './lower.ts'
export type { OnnxModel } from './messages.ts'
