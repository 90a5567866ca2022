/** @file Which feeds a program takes for labels: from 0 to 1 (cross entropy on one logit, log loss), or the number of a class (softmax). */
import type { Feed, Node, Program } from './program.ts'

/** With a label of 7 these losses have no minimum: they fall until they are no number, which reads like a learning rate too large. */
export function binaryLabels({ feeds, nodes }: Program): readonly Feed[] {
  const byValue = new Map<number, Node>(nodes.map((node) => [node.value, node]))
  const kindOf = (value: number) => byValue.get(value)?.op.kind
  /** z of 1 - z. */
  const opposite = (value: number): number | undefined => {
    const node = byValue.get(value)
    const first = node?.op.kind === 'sub' ? byValue.get(node.inputs[0]!)?.op : undefined
    return first?.kind === 'constant' && first.values.every((one) => one === 1) ? node!.inputs[1] : undefined
  }
  const labels = nodes.flatMap(({ op, inputs }) => {
    if (op.kind === 'sigmoid_cross_entropy') return [inputs[1]!]
    // -z ln p - (1 - z) ln(1 - p): of both factors of a product with a logarithm the one that is 1 - z tells.
    if (op.kind !== 'mul' || !inputs.some((value) => kindOf(value) === 'log')) return []
    return inputs.flatMap((value) => opposite(value) ?? [])
  })
  return [...new Set(labels.flatMap((value) => feedOf(feeds, byValue, value) ?? []))]
}

/** Feeds that are the number of a class, and how many classes there are. */
export function classLabels({ feeds, nodes }: Program): readonly { readonly feed: Feed; readonly classes: number }[] {
  const byValue = new Map<number, Node>(nodes.map((node) => [node.value, node]))
  return nodes.flatMap(({ op, inputs }) => {
    if (op.kind !== 'softmax_cross_entropy') return []
    const classes = byValue.get(inputs[0]!)?.shape.at(-1)
    const feed = feedOf(feeds, byValue, inputs[1]!)
    return feed && typeof classes === 'number' ? [{ feed, classes }] : []
  })
}

/** The feed that a value is, in another shape or type. */
function feedOf(feeds: readonly Feed[], byValue: ReadonlyMap<number, Node>, value: number): Feed | undefined {
  const node = byValue.get(value)
  if (!node) return feeds.find((feed) => feed.value === value)
  return node.op.kind === 'cast' || node.op.kind === 'reshape' ? feedOf(feeds, byValue, node.inputs[0]!) : undefined
}
