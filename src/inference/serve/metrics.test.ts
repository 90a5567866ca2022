import { expect, test } from 'vitest'
import { Metrics } from './metrics.ts'

test('counters, gauges and histograms in the text format of Prometheus', async () => {
  const metrics = await Metrics.open()
  const count = metrics.counter('requests_total', 'Requests.', ['code'])
  count(1, { code: 200 })
  count(2, { code: 200 })
  count(1, { code: 'a "b"' })
  metrics.gauge('epoch', 'The epoch.')(3)
  const observe = metrics.histogram('seconds', 'Time.', [0.1, 1])
  for (const seconds of [0.05, 0.1, 0.5, 7]) observe(seconds)
  expect(await metrics.text()).toMatchInlineSnapshot(`
    "# HELP requests_total Requests.
    # TYPE requests_total counter
    requests_total{code="200"} 3
    requests_total{code="a \\"b\\""} 1

    # HELP epoch The epoch.
    # TYPE epoch gauge
    epoch 3

    # HELP seconds Time.
    # TYPE seconds histogram
    seconds_bucket{le="0.1"} 2
    seconds_bucket{le="1"} 3
    seconds_bucket{le="+Inf"} 4
    seconds_sum 7.65
    seconds_count 4
    "
  `)
})
