import { expect, test } from 'vitest'
import { type Field, MultiSlotDataGenerator, MultiSlotStringDataGenerator } from './data-generator.ts'

class Numbers extends MultiSlotDataGenerator {
  *generateSample(line: string | undefined) {
    if (line === 'none') yield undefined
    else yield JSON.parse(line ?? '[["label",[1]],["s",[2,3]]]') as Field[]
  }
}
class Strings extends MultiSlotStringDataGenerator {
  *generateSample(line: string | undefined) {
    yield [['words', (line ?? '').split(' ')]] as const
  }
}

async function textOf(generator: Numbers | Strings, ...lines: string[]): Promise<string> {
  let text = ''
  await generator.run({
    lines,
    write: (more) => {
      text += more
    },
  })
  return text
}

test('samples are written as MultiSlot text; undefined is left out', async () => {
  expect(await textOf(new Numbers(), '[["label",[1]],["s",[2,3]]]', 'none', '[["label",[0]],["s",[0.5]]]')).toBe(
    '1 1 2 2 3\n1 0 1 0.5\n',
  )
  expect(await textOf(new Strings(), '1926 08 17')).toBe('3 1926 08 17\n')
})

test('runFromMemory gives what a reader makes of nothing', async () => {
  let text = ''
  await new Numbers().runFromMemory((more) => {
    text += more
  })
  expect(text).toBe('1 1 2 2 3\n')
})

test('generateBatch sees as many samples as setBatch says', async () => {
  class Counting extends Numbers {
    readonly sizes: number[] = []
    override generateBatch(samples: readonly (readonly Field[])[]) {
      this.sizes.push(samples.length)
      return [...samples].reverse()
    }
  }
  const generator = new Counting()
  generator.setBatch(2)
  expect(await textOf(generator, '[["a",[1]]]', '[["a",[2]]]', '[["a",[3]]]')).toBe('1 2\n1 1\n1 3\n')
  expect(generator.sizes).toEqual([2, 1])
})

const first = '[["label",[1]],["s",[2]]]'
test.each([
  ['{"label":[1]}', 'the output of process() must be in list or tuple type'],
  ['[["label",[]],["s",[1]]]', 'the elements of each field can not be empty, you need padding it in process().'],
  ['[["label",[1]]]', 'the complete field set of two given line are inconsistent.'],
  ['[["label",[1]],["t",[2]]]', 'the field name of two given line are not match: require<s>, get<t>.'],
  ['[["label",[1]],["s",["2"]]]', 'the type of element "2" must be in int or float'],
  ['[["label",[1]],["s",[12345678901234567890]]]', 'above 2^53'],
])('%s behind the first sample is refused', async (line, message) => {
  await expect(textOf(new Numbers(), first, line)).rejects.toThrow(message)
})

test('big whole numbers keep their digits as bigint', () => {
  expect(new Numbers().format([['s', [18446744073709551615n]]])).toBe('1 18446744073709551615\n')
})
