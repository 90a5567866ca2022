/** @file Reads the lines of PaddleRec's Alimama data: 50 columns each of tags, categories and brands, of two masks, then the columns of user, ad and click. */
import { BaseRecDataset, createRng, hashText, type Sample } from 'oarfish'

interface Config {
  readonly hyper_parameters: { readonly neg_num?: number; readonly cate_size?: number }
}

const LENGTH = 50
const USER = ['uid', 'cms_segid', 'cms_group_id', 'final_gender_code', 'age_level', 'pvalue_level', 'shopping_level']
const MORE = ['occupation', 'new_user_class_level', 'mid', 'cate_id', 'campaign_id', 'customer', 'brand']
const LAST = [...USER, ...MORE, 'price', 'pid', 'label']
const COLUMNS = 5 * LENGTH + LAST.length

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { neg_num = 20, cate_size = 12_978 } = this.config.hyper_parameters
    for await (const line of this.lines()) {
      const columns = line.trim().split(',').map(known)
      if (columns.length !== COLUMNS) throw new Error(`expected ${COLUMNS} columns, found ${columns.length}`)
      const part = (i: number) => columns.slice(i * LENGTH, (i + 1) * LENGTH)
      const there = part(3).map((bit) => Number(bit) === 1)
      const history = (i: number) => part(i).filter((_, t) => there[t])
      const last = LAST.map((name, i) => [name, columns[5 * LENGTH + i]!] as const)
      const random = createRng(hashText(line) ^ BigInt(this.pass.seed)) // others anew in each epoch
      yield {
        ...Object.fromEntries(last.map(([name, value]) => [name, isNumber(name) ? Number(value) : value])),
        btag_his: history(0),
        cate_his: history(1),
        brand_his: history(2),
        neg_cate: Array.from({ length: neg_num }, () => 1 + random.below(cate_size - 1)),
      }
    }
  }
}

function known(value: string): string {
  return value === '' || value.toUpperCase() === 'NULL' ? '0' : value
}

function isNumber(name: string): boolean {
  return name === 'price' || name === 'label'
}
