/** @file Counts in Prometheus' text format, version 0.0.4. */

/** A metric with one value per set of labels. */
interface Series {
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly values: Map<string, number>
}

interface Histogram {
  readonly help: string
  readonly bounds: readonly number[]
  readonly counts: number[]
  sum: number
  count: number
}

export type Labels = Readonly<Record<string, string | number>>

export class Metrics {
  readonly #series = new Map<string, Series>()
  readonly #histograms = new Map<string, Histogram>()

  counter(name: string, help: string): (by?: number, labels?: Labels) => void {
    const { values } = this.#add(name, 'counter', help)
    return (by = 1, labels = {}) => {
      const key = labelText(labels)
      values.set(key, (values.get(key) ?? 0) + by)
    }
  }

  gauge(name: string, help: string): (value: number, labels?: Labels) => void {
    const { values } = this.#add(name, 'gauge', help)
    return (value, labels = {}) => values.set(labelText(labels), value)
  }

  /** Counts values up to each of the ascending `bounds`. */
  histogram(name: string, help: string, bounds: readonly number[]): (value: number) => void {
    const histogram = { help, bounds, counts: bounds.map(() => 0), sum: 0, count: 0 }
    this.#histograms.set(name, histogram)
    return (value) => {
      histogram.sum += value
      histogram.count++
      const at = bounds.findIndex((bound) => value <= bound)
      if (at >= 0) histogram.counts[at]!++
    }
  }

  text(): string {
    const series = [...this.#series].flatMap(([name, { type, help, values }]) => [
      ...head(name, type, help),
      ...[...values].map(([labels, value]) => `${name}${labels} ${value}`),
    ])
    const histograms = [...this.#histograms].flatMap(([name, { help, bounds, counts, sum, count }]) => {
      let below = 0
      const buckets = bounds.map((bound, i) => {
        below += counts[i]!
        return `${name}_bucket{le="${bound}"} ${below}`
      })
      return [
        ...head(name, 'histogram', help),
        ...[...buckets, `${name}_bucket{le="+Inf"} ${count}`, `${name}_sum ${sum}`, `${name}_count ${count}`],
      ]
    })
    return `${[...series, ...histograms].join('\n')}\n`
  }

  #add(name: string, type: Series['type'], help: string): Series {
    const series: Series = { type, help, values: new Map() }
    this.#series.set(name, series)
    return series
  }
}

function head(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(String(value))}`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
