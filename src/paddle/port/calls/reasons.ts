/** @file Calls without a translation, each with its reason and, where there is one, what to write instead. */
import { type CallRow, without } from './row.ts'

const N = 'paddle.nn.'
const names = (prefix: string, list: string) =>
  list
    .split(' ')
    .map((name) => `${prefix}${name}`)
    .join(' ')

export const WITHOUT_ROWS: readonly CallRow[] = [
  without(
    names(N, 'GRU LSTM RNN GRUCell LSTMCell SimpleRNN'),
    'nn.Gru and nn.Lstm take a padded sequence with a mask, and their weights lie in another order',
  ),
  without(
    names(N, 'MultiHeadAttention TransformerEncoderLayer TransformerEncoder Transformer'),
    'there is no such layer; nn.dotProductAttention and nn.Linear are its parts',
  ),
  without(
    names(N, 'Conv1D Conv2D MaxPool2D AvgPool2D AdaptiveMaxPool1D AdaptiveAvgPool2D Flatten'),
    'there are no images here; nn.conv1d runs along a sequence, with channels last',
  ),
  without(`${N}BatchNorm2D ${N}functional.max_pool2d ${N}functional.avg_pool2d`, 'there are no images here'),
  without(`${N}PReLU ${N}functional.prelu`, 'nn.prelu(x, { name }) makes its slope where it is called'),
  without(`${N}functional.dropout`, 'a function has no name to draw by: use nn.Dropout as a layer of the class'),
  without(
    names(N, 'BCELoss BCEWithLogitsLoss CrossEntropyLoss MSELoss'),
    'write the function: nn.logLoss, nn.sigmoidCrossEntropy, nn.softmaxCrossEntropy, nn.squareError',
  ),
  without(`${N}ParameterList`, 'this.addParameter({ name, shape, init }) of each, and an array of them'),
  without(
    names('paddle.', 'rand randn uniform normal randint bernoulli'),
    'a net draws no numbers of its own, but in nn.Dropout',
  ),
  without(
    names('paddle.', 'zeros ones full arange to_tensor tril triu eye linspace'),
    'a constant needs the builder of a tensor: nn.constant(x.builder, values, { shape })',
  ),
  without(
    names('paddle.', 'gather gather_nd masked_select index_select topk argsort argmax sort nonzero unique'),
    'rows chosen by values: nn.gather, nn.takeAlong and nn.topK, whose operands differ',
  ),
  without('paddle.einsum', 'write it with nn.matmul, nn.transpose and nn.reshape'),
  without(`paddle.norm ${N}functional.normalize`, 'nn.l2Normalize, or nn.sqrt(nn.sum(nn.square(x), axis))'),
  without(`${N}functional.selu ${N}functional.elu`, 'there is no such activation'),
  without(`${N}functional.embedding`, 'nn.Embedding as a layer of the class'),
  without(
    'paddle.static.nn.sparse_embedding paddle.static.nn.embedding',
    'nn.embedding(slots, { name, dim }) is such a table',
  ),
  without(
    'paddle.static.nn.continuous_value_model',
    'show and click come from table_parameters (docs/reference/accessors.md)',
  ),
  without(
    'paddle.static.nn.sequence_pool paddle.static.nn.layer_norm paddle.static.nn.fc',
    'nn.embedding pools the signs of a slot; nn.layerNorm and nn.linear take a name',
  ),
  without(
    'paddle.static.accuracy paddle.static.ctr_metric_bundle',
    'metric.mean of a scalar, or metric.precisionRecall',
  ),
  without('paddle.distributed.ShowClickEntry', 'showClickEntry of oarfish, as entry of nn.embedding'),
  without('paddle.no_grad', 'nn.stopGradient(x)'),
  without('paddle.regularizer.L1Decay', 'optimizer.ftrl has l1'),
  without('numpy.array numpy.load numpy.sum numpy.finfo', 'arrays are read by a reader, not by a net'),
]
