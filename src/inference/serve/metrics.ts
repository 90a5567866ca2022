/** @file Counts of a server in Prometheus' text format, by prom-client. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

export type Labels = Readonly<Record<string, string | number>>

/** Each server has a registry of its own, so that several in one process do not mix. */
export class Metrics {
  readonly #registry = new Registry()

  counter(name: string, help: string, labelNames: readonly string[] = []): (by?: number, labels?: Labels) => void {
    const counter = new Counter({ name, help, labelNames, registers: [this.#registry] })
    return (by = 1, labels = {}) => counter.inc({ ...labels }, by)
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): (value: number, labels?: Labels) => void {
    const gauge = new Gauge({ name, help, labelNames, registers: [this.#registry] })
    return (value, labels = {}) => gauge.set({ ...labels }, value)
  }

  /** Counts values up to each of the ascending `bounds`. */
  histogram(name: string, help: string, bounds: readonly number[]): (value: number) => void {
    const histogram = new Histogram({ name, help, buckets: [...bounds], registers: [this.#registry] })
    return (value) => histogram.observe(value)
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }
}
