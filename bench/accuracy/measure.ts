/** @file What a run is worth: how well it ranks, how far its probabilities are off, and whether they add up. */
import { exactAuc } from '../../src/data/index.ts'
import type { Predicted } from './simulate.ts'

export interface Quality {
  readonly auc: number
  readonly logLoss: number
  /** Clicks over predicted clicks: 1 where probabilities add up. */
  readonly copc: number
}

/** The mean over the tasks of a model; the calibration of the one that is farthest off. */
export function qualityOf(tasks: Readonly<Record<string, Predicted>>): Quality {
  const each = Object.values(tasks).map(taskQuality)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const farthest = each.map(({ copc }) => copc).sort((a, b) => Math.abs(Math.log(b)) - Math.abs(Math.log(a)))[0]!
  return { auc: mean(each.map(({ auc }) => auc)), logLoss: mean(each.map(({ logLoss }) => logLoss)), copc: farthest }
}

const SURE = 1e-7 // no probability counts as nearer to 0 or 1

function taskQuality({ labels, predictions }: Predicted): Quality {
  let [loss, clicks, expected] = [0, 0, 0]
  for (const [i, label] of labels.entries()) {
    const p = Math.min(1 - SURE, Math.max(SURE, predictions[i]!))
    loss -= Math.log(label > 0 ? p : 1 - p)
    clicks += label
    expected += p
  }
  const auc = exactAuc(
    predictions.filter((_, i) => labels[i]! > 0),
    predictions.filter((_, i) => labels[i]! === 0),
  )
  return { auc, logLoss: loss / labels.length, copc: clicks / expected }
}
