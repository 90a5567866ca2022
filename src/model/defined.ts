/** @file A model made by defineModel as what the trainer takes: a StaticModel, which serves both kinds of graphs. */
import type { z } from 'zod'
import type { LoadedConfig } from '../base/config/index.ts'
import { computesOn } from '../base/device/index.ts'
import { processEnv } from '../base/env/index.ts'
import { UserError, type Where } from '../base/util/index.ts'
import type { Tensor } from '../graph/program/index.ts'
import type { Feeds, ModelOptimizer, NetOutput, StaticModel } from './contract.ts'
import type { NetResult, RunnerSettings, RunSettings } from './define.ts'
import { isObject } from './fields.ts'
import { guard, guardHyper } from './guard.ts'
import { placeOfField } from './place.ts'
import { weighedLoss } from './sample-weight.ts'
import { checkLoss } from './trace.ts'
import { checkVectors, isTensor } from './vectors.ts'

/** A definition whose types are not known any more. */
export interface AnyDefinition {
  readonly kind: 'model definition'
  readonly hyperParameters: z.ZodType
  inputs(feeds: Feeds, hyper: unknown, run: RunSettings): object
  net(inputs: object, hyper: unknown, run: RunSettings): NetResult
  metrics?(result: NetResult, inputs: object, hyper: unknown, run: RunSettings): NonNullable<NetOutput['metrics']>
  optimizer(hyper: unknown, run: RunSettings): ModelOptimizer
  readonly place: Where | undefined
}

/** True also for what another copy of the package made. */
export function isDefinition(value: unknown): value is AnyDefinition {
  return isObject(value) && (value as { kind?: unknown }).kind === 'model definition'
}

export function runnerSettings({ config: { runner } }: LoadedConfig): RunnerSettings {
  return { device: computesOn(runner, processEnv()), sync_mode: runner.sync_mode }
}

export function definedModel(
  definition: AnyDefinition,
  values: unknown,
  settings: Omit<RunSettings, 'training'>,
): StaticModel<object> {
  const hyper = guardHyper(values, definition.hyperParameters)
  const runAs = (training: boolean): RunSettings => guard({ ...settings, training }, { what: 'run setting' })
  return {
    createFeeds(feeds, isInfer) {
      const inputs = definition.inputs(feeds, hyper, runAs(!isInfer))
      if (isObject(inputs)) return guard(inputs, { what: 'input' })
      throw wrongResult(
        definition,
        'inputs',
        namesOf(inputs),
        "return what the net takes, by name: { click: label('click') }",
      )
    },
    net(inputs, isInfer) {
      const run = runAs(!isInfer)
      const result = guard(checkResult(definition, definition.net(inputs, hyper, run)), RESULT)
      const { loss, outputs } = result
      const vectors = 'vectors' in result ? result.vectors : undefined // it has a name only where the net returned it
      const metrics = definition.metrics?.(result, inputs, hyper, run)
      return { loss, outputs, metrics: metrics && checkMetrics(definition, metrics), vectors }
    },
    createOptimizer() {
      const own = definition.optimizer(hyper, runAs(true))
      if (isObject(own) && ('kind' in own || 'dense' in own)) return own
      throw wrongResult(definition, 'optimizer', namesOf(own), 'return optimizer.adam({ learningRate: 0.001 })')
    },
  }
}

const RESULT = { what: 'result' } as const

function checkResult(definition: AnyDefinition, result: unknown): NetResult {
  if (result instanceof Promise) {
    result.catch(() => {}) // what it waited for fails too, and nobody else listens
    throw wrongResult(definition, 'net', 'a promise', READS)
  }
  if (!isObject(result)) throw wrongResult(definition, 'net', namesOf(result), RETURN)
  const { loss, outputs = {} } = result as { loss?: unknown; outputs?: unknown }
  if (!isTensor(loss)) throw wrongResult(definition, 'net', `no loss but ${namesOf(result)}`, RETURN)
  const where = placeOfField(definition.place, 'net')
  const weighed = weighedLoss(loss, where)
  checkLoss(weighed, 'net()', where)
  const stranger = Object.entries(outputs as object).find(([, output]) => !isTensor(output))
  if (stranger) throw wrongResult(definition, 'net', `outputs.${stranger[0]}, which is no tensor`, RETURN)
  const { vectors } = result as Partial<NetResult>
  if (vectors !== undefined) checkVectors(vectors, where)
  return { ...result, loss: weighed, outputs: outputs as Record<string, Tensor> }
}

const RETURN = 'return { loss: mean(cost), outputs: { predict } } from net'
const READS =
  'a net of defineModel is not async; one that reads values is a class DygraphModel in dygraph_model.ts beside it (docs/guide/dygraph.md)'

const namesOf = (value: unknown) =>
  value === undefined ? 'nothing' : isObject(value) ? Object.keys(value).join(', ') || '{}' : String(value)

const METRIC_KINDS: readonly string[] = ['auc', 'mean', 'ratio', 'gauc', 'report']

function checkMetrics(definition: AnyDefinition, metrics: NonNullable<NetOutput['metrics']>) {
  const stranger = Object.entries(metrics).find(([, own]) => !METRIC_KINDS.includes(own?.kind))
  if (!stranger) return metrics
  const hint = `${stranger[0]}: metric.mean(value), or metric.auc(prediction, label)`
  throw wrongResult(definition, 'metrics', `${stranger[0]}, which is no metric`, hint)
}

function wrongResult({ place }: AnyDefinition, field: string, got: string, hint: string): UserError {
  return new UserError(`${field} returned ${got}`, { code: 'MODEL_FIELD', where: placeOfField(place, field), hint })
}
