/** @file Passes of the GPU parameter server on the CPU: how long training stands still for the preparation of the next one. */
import { loadConfig } from '../src/base/config/index.ts'
import type { EventOf } from '../src/base/event/index.ts'
import { overPasses, train } from '../src/training/driver/index.ts'
import { criteoLike } from './dataset.ts'
import { at as place } from './tools.ts'

/** Of the preparation of a pass alone, at most so much may be waited for while passes train longer than they load. */
const AT_MOST = 0.2
const ROWS = 60_000

export async function measurePasses(): Promise<boolean> {
  const data = await criteoLike(ROWS, 'slot', 1, 'train')
  const config = loadConfig({
    path: place('models/rank/dnn/config_gpubox.yaml'),
    overrides: [
      `runner.train_data_dir=${data}`,
      'runner.model_save_path=',
      'runner.device=cpu',
      'runner.train_batch_size=512',
      'runner.pass_memory=24MB',
      'runner.epochs=1',
    ],
    cwd: place(),
  })
  const [begun, ended]: [EventOf<'passBegin'>[], EventOf<'passEnd'>[]] = [[], []]
  const at: number[] = []
  await train(
    {
      config,
      emit: (event) => {
        if (event.kind === 'passBegin') at.push(performance.now())
        if (event.kind === 'passBegin') begun.push(event)
        if (event.kind === 'passEnd') ended.push(event)
        if (event.kind === 'passEnd') at.push(performance.now())
      },
    },
    overPasses(),
  )
  const first = begun[0]!
  // Nothing trains while the first is prepared, and it has the rows of all of them to make.
  const alone = first.loadSeconds + first.collectSeconds
  console.log(`\n# Passes of ${ROWS} criteo-like samples on the CPU, batch 512\n`)
  console.log(
    '| pass | rows | prepared in | waited for | trained for | written back in |\n| --- | --- | --- | --- | --- | --- |',
  )
  const waits = begun.map((pass, i) => {
    const trained = (at[2 * i + 1]! - at[2 * i]!) / 1000 - ended[i]!.seconds
    const cells = [pass.loadSeconds + pass.collectSeconds, pass.waitedSeconds, trained, ended[i]!.seconds]
    console.log(`| ${pass.pass} | ${pass.rows} | ${cells.map((seconds) => `${seconds.toFixed(2)} s`).join(' | ')} |`)
    return { waited: pass.waitedSeconds, trained }
  })
  const longer = waits.slice(1).filter((_, i) => waits[i]!.trained > alone)
  const worst = Math.max(0, ...longer.map(({ waited }) => waited / alone))
  console.log(
    `\nwaited at most ${(100 * worst).toFixed(0)} % of a preparation alone (${alone.toFixed(2)} s; at most ${100 * AT_MOST} %)`,
  )
  return longer.length > 0 && worst <= AT_MOST
}
