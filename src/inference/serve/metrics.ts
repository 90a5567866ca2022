/** @file Counts of a server in Prometheus' text format, by prom-client. */
import type { Registry } from 'prom-client'

type Prom = typeof import('prom-client')

export type Labels = Readonly<Record<string, string | number>>

/** Each server has a registry of its own, so that several in one process do not mix. */
export class Metrics {
  readonly #prom: Prom
  readonly #registry: Registry

  /** Its library takes time to load, and others with it: who only imports this folder does not need it. */
  static async open(): Promise<Metrics> {
    return new Metrics(await import('prom-client'))
  }

  private constructor(prom: Prom) {
    this.#prom = prom
    this.#registry = new prom.Registry()
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): (by?: number, labels?: Labels) => void {
    const counter = new this.#prom.Counter({ name, help, labelNames, registers: [this.#registry] })
    return (by = 1, labels = {}) => counter.inc({ ...labels }, by)
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): (value: number, labels?: Labels) => void {
    const gauge = new this.#prom.Gauge({ name, help, labelNames, registers: [this.#registry] })
    return (value, labels = {}) => gauge.set({ ...labels }, value)
  }

  /** Counts values up to each of the ascending `bounds`. */
  histogram(name: string, help: string, bounds: readonly number[]): (value: number) => void {
    const histogram = new this.#prom.Histogram({ name, help, buckets: [...bounds], registers: [this.#registry] })
    return (value) => histogram.observe(value)
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }
}
