/** @file What a pass measured, in PaddleRec's words, and noted as the judgement of the pass before it. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobConfig } from '../../base/config/index.ts'
import type { EventSink } from '../../base/event/index.ts'
import { replaceFile } from '../../base/fs/index.ts'
import type { TracedModel } from '../../model/index.ts'
import { type PassResult, reportFields } from '../threads/index.ts'
import type { Days } from './days.ts'

export interface PassMetricsOptions {
  readonly config: JobConfig
  readonly days: Days
  readonly emit: EventSink
  readonly model: () => TracedModel
  /** This process keeps what was measured. */
  readonly isFirst: boolean
}

export const EVALUATION_FILE = 'evaluation.jsonl'

/** The line of the model's AUC report, which has PaddleRec's nine figures; else every metric by name. */
export function metricText({ metrics }: Pick<TracedModel, 'metrics'>, { meter, metrics: values }: PassResult): string {
  const { reports } = reportFields(metrics, meter) as { readonly reports?: Readonly<Record<string, string>> }
  const nine = Object.values(reports ?? {}).find((text) => text.startsWith('AUC='))
  if (nine !== undefined) return nine
  const texts = Object.entries(values).map(([name, value]) => `${name === 'auc' ? 'AUC' : name}=${value.toFixed(6)}`)
  return [...texts, `Ins number=${meter.samples}`].join(' ')
}

/** Says what a pass measured; with runner.evaluate: next also keeps it as what the model of the pass before is worth. */
export function passMetrics(options: PassMetricsOptions) {
  const { config, days, emit, model, isFirst } = options
  const { evaluate, model_save_path: root } = config.runner
  return async (what: 'judged' | 'trained', epoch: number, result: PassResult): Promise<void> => {
    const { day, pass } = days.at(epoch)
    const kind = what === 'judged' ? 'Infer' : 'Train'
    emit({
      kind: 'notice',
      message: `Day:${day}, Pass: ${pass}, ${kind} Global Metric: ${metricText(model(), result)}`,
    })
    if (what !== 'judged' || evaluate !== 'next' || epoch === 0) return
    const before = days.at(epoch - 1)
    const { metrics, meter } = result
    const shown = Object.entries(metrics).filter(([name]) => !name.includes('.'))
    const text = shown.map(([name, value]) => `${name}: ${value.toFixed(6)}`).join(', ')
    emit({
      kind: 'notice',
      message: `Day:${before.day}, Pass: ${before.pass}, judged by what came next (${day}/${pass}): ${text}`,
    })
    if (!isFirst || root === '') return
    await note(join(root, EVALUATION_FILE), days, {
      day: before.day,
      pass: before.pass,
      by: { day, pass },
      samples: meter.samples,
      metrics: Object.fromEntries(shown),
    })
  }
}

interface Judged {
  readonly day: string
  readonly pass: number
}

/** Adds a line; of passes that were judged before a restart, the new ones count. */
async function note(file: string, days: Days, judged: Judged & Readonly<Record<string, unknown>>): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text.split('\n').filter((line) => line !== '')
  const numberOf = ({ day, pass }: Judged) => days.epochOf(day, pass)
  const before = lines.filter((line) => numberOf(JSON.parse(line) as Judged) < numberOf(judged))
  await replaceFile(file, `${[...before, JSON.stringify(judged)].join('\n')}\n`)
}
