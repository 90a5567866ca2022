import { describe, expect, test } from 'vitest'
import { backward, inference } from '../autodiff/index.ts'
import { Builder, mean, printProgram, type Tensor } from '../program/index.ts'
import * as nn from './index.ts'

class Block extends nn.Layer {
  readonly norm = this.addSublayer('norm', new nn.BatchNorm({ width: 4 }))
  readonly fc = this.addSublayer('fc', new nn.Linear({ in: 4, out: 4, activation: 'relu' }))
  readonly drop = this.addSublayer('drop', new nn.Dropout({ rate: 0.5 }))

  forward(x: Tensor): Tensor {
    return this.drop.forward(this.fc.forward(this.norm.forward(x)))
  }
}

class Net extends nn.Layer {
  readonly ids = this.addSublayer('ids', new nn.Embedding({ dim: 4 }))
  readonly blocks = [0, 1].map((i) => this.addSublayer(`block${i}`, new Block()))
  readonly scale = this.addParameter({ name: 'scale', shape: [4], init: { kind: 'constant', value: 1 } })
}

const slot = (builder: Builder, name = 'item') => ({ kind: 'sparse', name, builder }) as const

describe('a tree of layers', () => {
  test('names its weights and state by their path', () => {
    const names = Object.keys(new Net().stateDict())
    expect(names).toContain('scale')
    expect(names.filter((name) => name.startsWith('block1.'))).toEqual([
      'block1.norm.weight',
      'block1.norm.bias',
      'block1.norm.running_mean',
      'block1.norm.running_variance',
      'block1.fc.weight',
      'block1.fc.bias',
    ])
    expect(new Net().parameters().map(({ name }) => name)).not.toContain('block0.norm.running_mean')
  })

  test('knows its tables before any step', () => {
    expect(new Net().tables()).toEqual([{ name: 'ids', dim: 4, init: { kind: 'uniform', low: -0.05, high: 0.05 } }])
  })

  test('tells all its layers of train() and eval()', () => {
    const net = new Net()
    expect(net.eval().blocks.map(({ drop }) => drop.training)).toEqual([false, false])
    expect(net.train().blocks.map(({ drop }) => drop.training)).toEqual([true, true])
  })

  test('refuses two parts of one name and a layer in two places', () => {
    const net = new Net()
    expect(() => net.addSublayer('scale', new Block())).toThrow('has two parts named "scale"')
    expect(() => net.addSublayer('again', net.blocks[0]!)).toThrow('block0 was added a second time, as again')
  })
})

describe('a layer in a graph', () => {
  test('uses the same weights however often it is called', () => {
    const builder = new Builder()
    const layer = new nn.Linear({ in: 2, out: 2 })
    const x = builder.feed('x', ['B', 2], 'float32')
    const { parameters } = builder.build({ y: layer.forward(layer.forward(x)) })
    expect(parameters.map(({ name }) => name)).toEqual(['weight', 'bias'])
  })

  test('is the program that the function of the same name makes', () => {
    const [a, b] = [new Builder(), new Builder()]
    const x = a.feed('x', ['B', 4], 'float32')
    const normed = nn.batchNorm(x, { name: 'norm' })
    const dropped = nn.dropout(nn.linear(normed, { name: 'fc', out: 4, activation: 'relu' }), { name: 'drop' })
    const layered = new Block().forward(b.feed('x', ['B', 4], 'float32'))
    const [functions, layers] = [a.build({ loss: mean(dropped) }), b.build({ loss: mean(layered) })]
    expect(printProgram(backward(layers, 'loss'))).toBe(printProgram(backward(functions, 'loss')))
    expect(printProgram(inference(layers, ['loss']))).toBe(printProgram(inference(functions, ['loss'])))
  })

  test('after eval() drops nothing and leaves running statistics alone', () => {
    const builder = new Builder()
    const y = new Block().eval().forward(builder.feed('x', ['B', 4], 'float32'))
    const { feeds, state } = builder.build({ y })
    expect(feeds.map(({ name }) => name)).toEqual(['x'])
    expect(state.map(({ next }) => next)).toEqual([undefined, undefined])
  })

  test('an embedding of the same slots is looked up once, of other slots under a name of its own', () => {
    const builder = new Builder()
    const { ids } = new Net()
    expect(ids.forward(slot(builder))).toBe(ids.forward([slot(builder)]))
    ids.forward([slot(builder, 'other'), slot(builder)])
    const { rows, tables } = builder.build({ y: ids.forward(slot(builder)) })
    expect(rows.map(({ name, table }) => [name, table])).toEqual([
      ['ids', 'ids'],
      ['ids:other+item', 'ids'],
    ])
    expect(tables).toHaveLength(1)
  })

  test('a value cannot be read in a static graph', () => {
    const x = new Builder().feed('x', ['B', 4], 'float32')
    expect(() => x.item()).toThrow('in a static graph tensors have no values')
  })
})
