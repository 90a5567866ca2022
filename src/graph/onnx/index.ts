/**
 * @file A program as an ONNX model: one lowering rule an op, and the protobuf messages.
 * Knows nothing of onnxruntime: what it makes is bytes.
 */
export { toOnnx, toOnnxModel } from './lower.ts'
export { dataType, encodeModel, type OnnxModel, type OnnxNode, type OnnxTensor, type OnnxValue } from './messages.ts'
export {
  rowsInputs,
  TABLE_STEP_RULES,
  type TableRule,
  tableInputs,
  tableStep,
  trainedTable,
  trainedTables,
} from './table-step.ts'
