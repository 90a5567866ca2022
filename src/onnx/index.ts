/** @file The public face of onnx/: a program as an ONNX model. */
export { type OnnxOptions, toOnnx, toOnnxModel } from './lower.ts'
export { dataType, encodeModel, type OnnxModel, type OnnxNode, type OnnxTensor, type OnnxValue } from './messages.ts'
