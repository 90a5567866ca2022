/** @file What a data provider yields for each input, with the original's names. */

export type InputType =
  /** An id below `dim`; a sequence is a list of ids. */
  | { readonly kind: 'integer'; readonly dim: number; readonly sequence: boolean }
  /** `dim` numbers; for a dim of 1 a number will do. */
  | { readonly kind: 'dense'; readonly dim: number }
  /** The places of the ones among `dim` zeros. */
  | { readonly kind: 'sparse_binary'; readonly dim: number }
  /** [place, value] of what is not zero. */
  | { readonly kind: 'sparse_float'; readonly dim: number }

export const integerValue = (dim: number): InputType => ({ kind: 'integer', dim, sequence: false })
export const integerValueSequence = (dim: number): InputType => ({ kind: 'integer', dim, sequence: true })
export const denseVector = (dim: number): InputType => ({ kind: 'dense', dim })
export const sparseBinaryVector = (dim: number): InputType => ({ kind: 'sparse_binary', dim })
export const sparseFloatVector = (dim: number): InputType => ({ kind: 'sparse_float', dim })

export function inputTypeText(type: InputType): string {
  const names = {
    dense: 'denseVector',
    sparse_binary: 'sparseBinaryVector',
    sparse_float: 'sparseFloatVector',
  } as const
  const name = type.kind === 'integer' ? (type.sequence ? 'integerValueSequence' : 'integerValue') : names[type.kind]
  return `${name}(${type.dim})`
}
