/** @file Which feeds a program takes for labels from 0 to 1: those of cross entropy on one logit, and of log loss. */
import type { Feed, Node, Program } from './program.ts'

/** With a label of 7 these losses have no minimum: they fall until they are no number, which reads like a learning rate too large. */
export function binaryLabels({ feeds, nodes }: Program): readonly Feed[] {
  const byValue = new Map<number, Node>(nodes.map((node) => [node.value, node]))
  const kindOf = (value: number) => byValue.get(value)?.op.kind
  /** The feed that a value is, in another shape or type. */
  const feedOf = (value: number): Feed | undefined => {
    const node = byValue.get(value)
    if (!node) return feeds.find((feed) => feed.value === value)
    return node.op.kind === 'cast' || node.op.kind === 'reshape' ? feedOf(node.inputs[0]!) : undefined
  }
  /** z of 1 - z. */
  const opposite = (value: number): number | undefined => {
    const node = byValue.get(value)
    const first = node?.op.kind === 'sub' ? byValue.get(node.inputs[0]!)?.op : undefined
    return first?.kind === 'constant' && first.values.every((one) => one === 1) ? node!.inputs[1] : undefined
  }
  const labels = nodes.flatMap(({ op, inputs }) => {
    if (op.kind === 'sigmoid_cross_entropy') return [inputs[1]!]
    // -z ln p - (1 - z) ln(1 - p): a factor of the form 1 - z beside a logarithm says that z is a label.
    if (op.kind !== 'mul' || !inputs.some((value) => kindOf(value) === 'log')) return []
    return inputs.flatMap((value) => opposite(value) ?? [])
  })
  return [...new Set(labels.flatMap((value) => feedOf(value) ?? []))]
}
