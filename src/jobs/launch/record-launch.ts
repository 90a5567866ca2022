/** @file What a launcher sees of its processes, added to the run folder that they write: one name for all of them, and their states and ends. */
import { mkdirSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Env } from '../../base/env/index.ts'
import type { Event, EventSink } from '../../base/event/index.ts'
import { EventWriter, removeRunNote, runName, runOfLog, runPaths } from '../../base/runs/index.ts'

/** With a name for the run in the environment, where there is none yet: processes of one launch write one folder. */
export function asOneRun<Options extends { readonly env: Env; readonly script: readonly string[] }>(
  options: Options,
): Options {
  const { env, script } = options
  if (env['OARFISH_RUN_NAME']) return options
  return { ...options, env: { ...env, OARFISH_RUN_NAME: runName(modelOf(script)) } }
}

/** `dnn` of `tools/trainer.py -m models/rank/dnn/config.yaml`, else the name of the script. */
function modelOf([file = 'job', ...args]: readonly string[]): string {
  const config = args[args.findIndex((word) => word === '-m' || word === '--config_yaml') + 1]
  const named = config !== undefined && args.includes(config) && /\.ya?ml$/.test(config)
  return named ? basename(dirname(resolve(config))) : basename(file).replace(/\.\w+$/, '')
}

const LOOK_MS = 500
/** Of a job that writes no run folder: no more than this is kept in case one comes. */
const MOST_WAITING = 1000

/** Passes events on; those worth keeping go to the run folder once a process has said where it is. */
export function recordLaunch(logs: readonly string[], emit: EventSink): { readonly emit: EventSink; close(): void } {
  let waiting: { readonly event: Event; readonly at: number }[] = []
  let writer: EventWriter | undefined
  for (const log of logs) removeRunNote(log) // of an earlier launch
  const look = () => {
    const folder = logs.map((log) => runOfLog(log)).find((path) => path !== undefined)
    if (folder === undefined) return
    clearInterval(timer)
    try {
      mkdirSync(runPaths(folder).events, { recursive: true })
      writer = new EventWriter(runPaths(folder).eventFile('launcher'), () => undefined)
    } catch {
      return // it was deleted meanwhile: nobody looks for it
    }
    for (const { event, at } of waiting) writer.add(event, at)
    waiting = []
  }
  const timer = setInterval(look, LOOK_MS).unref()
  return {
    emit: (event) => {
      if (event.kind !== 'output') {
        if (writer) writer.add(event, Date.now())
        else if (waiting.length < MOST_WAITING) waiting.push({ event, at: Date.now() })
      }
      emit(event)
    },
    close: () => {
      clearInterval(timer)
      if (!writer) look()
      writer?.close()
    },
  }
}
