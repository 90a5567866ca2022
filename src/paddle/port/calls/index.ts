/** @file The table of calls: every call of Paddle that `oarfish port` knows, and what becomes of it. docs/reference/port.md is written from it. */
import { FUNCTIONAL_ROWS } from './functional.ts'
import { LAYER_ROWS } from './layers.ts'
import { MODEL_METHODS, MODEL_ROWS } from './model.ts'
import { OPTIMIZER_ROWS, PART_METHODS, PART_ROWS } from './parts.ts'
import { PYTHON_METHODS, PYTHON_ROWS } from './python.ts'
import { WITHOUT_ROWS } from './reasons.ts'
import type { CallRow } from './row.ts'
import { TENSOR_METHODS, TENSOR_ROWS } from './tensor.ts'
import { WEIGHT_ROWS } from './weights.ts'

/** The table in the order and the sections of the reference. */
export const SECTIONS: Readonly<Record<string, readonly CallRow[]>> = {
  Layers: [...LAYER_ROWS, ...PART_ROWS],
  'Weights and how they begin': WEIGHT_ROWS,
  'Operations on tensors': TENSOR_ROWS,
  'Activations, losses, metrics': FUNCTIONAL_ROWS,
  'Inputs, the config, optimizers': [...MODEL_ROWS, ...OPTIMIZER_ROWS],
  'Methods of tensors, layers and lists': [...TENSOR_METHODS, ...PART_METHODS, ...PYTHON_METHODS, ...MODEL_METHODS],
  "Python's own": PYTHON_ROWS,
  'Without a translation': WITHOUT_ROWS,
}

const byName = (rows: readonly CallRow[]) =>
  new Map(rows.flatMap((own) => own.names.map((name) => [name, own] as const)))

const METHOD_ROWS = [...TENSOR_METHODS, ...PART_METHODS, ...PYTHON_METHODS, ...MODEL_METHODS]
/** Functions and classes by their full name. */
export const CALLS = byName(
  Object.values(SECTIONS)
    .flat()
    .filter((own) => !METHOD_ROWS.includes(own)),
)
/** Methods by kind of value and name: `Tensor.sum`. */
export const METHODS = byName(METHOD_ROWS)
export type { CallRow } from './row.ts'
