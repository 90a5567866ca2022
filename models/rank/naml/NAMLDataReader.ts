/**
 * @file Reads PaddleRec's lines of what users read: news of the history, the one that was read, others that were shown, with tabs between these and spaces between
 * news. The news themselves stand in the file `runner.custom.article_path`: id, category, sub-category, words of the title, words of the text, with tabs between.
 */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { BaseRecDataset, type Sample } from 'oarfish'

interface Config {
  readonly runner: { readonly custom: { readonly article_path?: string } }
  readonly hyper_parameters: {
    readonly article_content_size?: number
    readonly article_title_size?: number
    readonly browse_size?: number
    readonly neg_condidate_sample_size?: number
  }
}
interface Article {
  readonly category: string
  readonly subCategory: string
  readonly title: readonly string[]
  readonly content: readonly string[]
}

const NONE: Article = { category: '0', subCategory: '0', title: [], content: [] }
const words = (text: string) => text.trim().split(/\s+/).filter(Boolean)

export class RecDataset extends BaseRecDataset<Config> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Sample> {
    const { browse_size = 50, neg_condidate_sample_size: others = 4 } = this.config.hyper_parameters
    const articles = await readArticles(this.config.runner.custom.article_path)
    for await (const line of this.lines()) {
      const columns = line.split('\t').map(words)
      const [history, read, shown] = columns
      if (!(shown && read?.[0]))
        throw new Error('expected a history, what was read and what was not, with tabs between')
      if (shown.length < others) continue // too few to compare with, as in PaddleRec
      const recent = this.latest(history!, browse_size)
      const ids = [
        read[0],
        ...shown.slice(0, others),
        ...recent,
        ...new Array<string>(browse_size - recent.length).fill(''),
      ]
      yield this.#sample(ids.map((id) => articles.get(id) ?? NONE))
    }
  }

  #sample(news: readonly Article[]): Sample {
    const { article_title_size = 30, article_content_size = 200 } = this.config.hyper_parameters
    const filled = (list: readonly string[], size: number) => Array.from({ length: size }, (_, i) => list[i] ?? '0')
    return {
      category: news.map(({ category }) => category),
      sub_category: news.map(({ subCategory }) => subCategory),
      title: news.flatMap(({ title }) => filled(title, article_title_size)),
      title_words: news.map(({ title }) => Math.min(title.length, article_title_size)),
      content: news.flatMap(({ content }) => filled(content, article_content_size)),
      content_words: news.map(({ content }) => Math.min(content.length, article_content_size)),
    }
  }
}

async function readArticles(path: string | undefined): Promise<ReadonlyMap<string, Article>> {
  if (path === undefined)
    throw new Error('runner.custom.article_path is missing: name the file of the news, as in config.yaml')
  const rows = (await readFile(resolve(import.meta.dirname, path), 'utf8'))
    .split('\n')
    .filter((line) => line.trim() !== '')
  return new Map(
    rows.map((line, i) => {
      const [id, category, subCategory, title, content = ''] = line.split('\t')
      if (title === undefined)
        throw new Error(`${path}:${i + 1}: expected id, category, sub-category, title and text, with tabs between`)
      return [
        id!.trim(),
        { category: category!, subCategory: subCategory!, title: words(title), content: words(content) },
      ]
    }),
  )
}
