/** @file Criteo's lines as MultiSlot text: oarfish exec criteo_reader.ts 1000001 < part-0 */
import { type Field, MultiSlotDataGenerator } from 'oarfish'

const CONT_MIN = [0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
const CONT_DIFF = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
const CATEGORIES = 26

/** A label, 13 counts and 26 categories between tabs; what is missing is empty. */
class CriteoDataset extends MultiSlotDataGenerator {
  readonly #hashDim: number

  constructor(sparseFeatureDim: number) {
    super()
    this.#hashDim = sparseFeatureDim
  }

  *generateSample(line: string): Generator<Field[]> {
    const features = line.split('\t')
    const denseFeature = CONT_DIFF.map((diff, i) => {
      const text = features[i + 1]!
      return text === '' ? 0 : (Number(text) - CONT_MIN[i]!) / diff
    })
    const sparseFeature = Array.from({ length: CATEGORIES }, (_, i): Field => {
      const idx = i + 14
      return [`C${i + 1}`, [hashOf(`${idx}${features[idx]}`) % this.#hashDim]]
    })
    yield [['dense_input', denseFeature], ...sparseFeature, ['label', [Number(features[0])]]]
  }
}

/** FNV-1a, 32 bits: the same as in criteo_reader.py. */
function hashOf(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}

await new CriteoDataset(Number(process.argv[2])).runFromStdin()
