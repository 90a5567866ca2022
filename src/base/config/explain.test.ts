import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { explain, formatSettings } from './explain.ts'
import { loadConfig } from './load.ts'
import type { JobConfig } from './resolve.ts'

let folder = ''
let config: JobConfig
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oarfish-config-'))
  writeFileSync(
    join(folder, 'config.yaml'),
    'runner:\n  train_data_dir: /data\n  train_batch_size: 2\n  model_save_path: /out\n  fs_ugi: "me,secret"\n  use_auc: True\nhyper_parameters:\n  optimizer: {class: Adam}\n',
  )
  config = loadConfig({ path: 'config.yaml', cwd: folder }).config
})
afterAll(() => rmSync(folder, { recursive: true }))

test('settings are dotted keys; the rest only where it is set; no secret', () => {
  const settings = explain(config)
  expect(settings).toMatchObject({
    'runner.train_data_dir': '/data',
    'runner.epochs': 1,
    'hyper_parameters.optimizer.class': 'Adam',
    'runner.fs_ugi': '***',
  })
  expect(settings).not.toHaveProperty(['runner.sync_mode'])
  expect(formatSettings(settings)).toMatch(/^runner\.use_auc +True$/m)
  expect(formatSettings(settings)).not.toContain('secret')
})
