/** @file A small model whose tables begin in every way, with a sequence of fixed length and pooling by sqrt(n). */
import { type Feeds, metric, type NetOutput, optimizer } from 'oarfish'
import * as nn from 'oarfish/nn'
import { concat, mean, reshape, sigmoid, type Tensor } from 'oarfish/nn'

interface Inputs {
  readonly click: Tensor
  readonly user: nn.SparseSlot
  readonly tags: nn.SparseSlot
  readonly history: nn.SparseSlot
  readonly x: Tensor
}

export class StaticModel {
  createFeeds({ label, sparse, dense }: Feeds): Inputs {
    const [click, user, tags] = [label('click'), sparse('user'), sparse('tags')]
    return { click, user, tags, history: sparse('history'), x: dense('x', 2) }
  }

  net({ click, user, tags, history, x }: Inputs): NetOutput {
    const normal = nn.embedding([user, tags], { name: 'normal', dim: 4, init: { kind: 'normal', mean: 0.1, std: 0.5 } })
    const cut = nn.embedding([tags], {
      name: 'cut',
      dim: 5,
      pooling: 'sqrtn',
      init: { kind: 'truncated_normal', mean: 0, std: 1 },
    })
    const fixed = nn.embedding([user], { name: 'user', dim: 2, init: { kind: 'constant', value: 0.25 } }) // named as a slot is
    const { x: sequence } = nn.sequenceEmbedding(history, { name: 'sequence', dim: 3, length: 4 })
    const all = concat([normal, cut, fixed, reshape(sequence, ['B', 12]), x], 1)
    const logit = nn.linear(nn.linear(all, { name: 'hidden', out: 8, activation: 'relu' }), { name: 'out', out: 1 })
    return {
      loss: mean(nn.sigmoidCrossEntropy(logit, click)),
      metrics: { auc: metric.auc(sigmoid(logit), click) },
      outputs: { predict: sigmoid(logit), logit },
    }
  }

  createOptimizer() {
    return optimizer.adagrad({ learningRate: 0.05 })
  }
}
