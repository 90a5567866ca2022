/** @file Writes docs/config.md and docs/config.schema.json from the schema; `--check` only compares and fails when they are stale. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createJiti } from 'jiti'

const jiti = createJiti(import.meta.url)
const { jsonSchema, SYNC_MODES } = await jiti.import('../src/config/index.ts')
const { RUNNER_GROUPS, userConfigSchema } = await jiti.import('../src/config/schema.ts')
const { tableParameters } = await jiti.import('../src/config/table-parameters.ts')
const { describeSchema } = await jiti.import('../src/config/describe.ts')
const { yamlValue } = await jiti.import('../src/config/edit.ts')
const { bare, defaultOf, isOptional, keysOf, metaOf, schemaAt } = await jiti.import('../src/config/walk.ts')

const check = process.argv.includes('--check')
const stale = Object.entries({
  'config.md': configPage(),
  'config.schema.json': `${JSON.stringify(jsonSchema(), null, 2)}\n`,
}).filter(([name, text]) => !write(new URL(`../docs/${name}`, import.meta.url), text))
if (check && stale.length > 0) {
  console.error(`stale: ${stale.map(([name]) => `docs/${name}`).join(', ')}; run node scripts/docs.mjs`)
  process.exit(1)
}

/** True if the file already says so. */
function write(url, text) {
  const same = readIfThere(url) === text
  if (!same && !check) {
    writeFileSync(url, text)
    console.log(`wrote ${fileURLToPath(url)}`)
  }
  return same
}

function readIfThere(url) {
  try {
    return readFileSync(url, 'utf8')
  } catch {
    return undefined
  }
}

function configPage() {
  return `<!-- Written by scripts/docs.mjs from src/config; change it there. -->
# config.yaml

\`oarfish train -m config.yaml\` reads PaddleRec 2.x configs as they are. A config has these groups:

${table(
  ['group', 'meaning'],
  keysOf(userConfigSchema).map((key) => [code(key), meaning(userConfigSchema.shape[key])]),
)}

Completion and checks in an editor: put this on the first line.
\`\`\`yaml
# yaml-language-server: $schema=node_modules/oarfish/docs/config.schema.json
\`\`\`

## How values are read

- Unknown keys are errors, except under \`hyper_parameters\` and \`runner.custom\`, which the model or the reader checks.
- \`True\`, \`true\`, \`yes\`, \`on\`, \`1\` and their opposites are booleans where a boolean is expected; a quoted number is a number where a number is expected; \`key:\` with nothing after it means its default.
- A repeated key is a notice; the last one counts.
- Data folders and readers are relative to the folder of the yaml, \`model_save_path\`, \`model_init_path\` and \`infer_load_path\` to the working folder. \`{workspace}\` in a value stands for \`workspace\`.
- \`-o runner.epochs=2\` replaces a value. It is read as yaml (\`-o hyper_parameters.fc_sizes=[64,32]\`), may contain \`=\`, and is checked as strictly as the file.
- \`-m paddlerec.models.rank.dnn\` is the config that ships with this package under \`models/rank/dnn\`.
- \`sync_mode\` is one of ${SYNC_MODES.map(code).join(', ')}; PaddleRec's \`heter\` is not part of Oarfish.

All problems are printed at once, each with its place and its fix:
\`\`\`
config.yaml:42:14 runner.sync_mode: expected sync | async | half_async | geo | gpubox, got "asyn" - did you mean "async"?
   42 |   sync_mode: "asyn"
      |              ^^^^^^
  fix: replace line 42 with:
   42 |   sync_mode: "async"
\`\`\`
[errors.md](errors.md) has a section for each error code.

${RUNNER_GROUPS.map(({ title, intro, shape }) => `## \`runner\`: ${title}\n\n${intro}\n\n${options(shape)}`).join('\n\n')}

## \`table_parameters.<embedding>\`

Row layout, optimizer rule and storage of a parameter server's sparse table. Every key may be left out.

${options(tableParameters.shape)}

${nested(['accessor'])}
${nested(['accessor', 'embed_sgd_param'], '`embedx_sgd_param` has the same keys.')}
${['naive', 'adagrad', 'adam'].map((rule) => nested(['accessor', 'embed_sgd_param', rule])).join('\n')}
${nested(['accessor', 'ctr_accessor_param'], 'The value in brackets holds when the key is left out.')}
${nested(['accessor', 'table_accessor_save_param'])}`
}

function nested(path, note = '') {
  const { shape } = bare(schemaAt(tableParameters, path))
  return `### ${code(path.join('.'))}\n\n${note && `${note}\n\n`}${options(shape)}\n`
}

function options(shape) {
  const plain = Object.values(shape).every((schema) => isFree(schema))
  if (plain)
    return table(
      ['key', 'meaning'],
      Object.entries(shape).map(([key, schema]) => [code(key), meaning(schema)]),
    )
  const rows = Object.entries(shape).map(([key, schema]) => [
    code(key),
    isFree(schema) ? 'any value' : describeSchema(schema),
    fallback(schema),
    meaning(schema),
  ])
  return table(['key', 'value', 'default', 'meaning'], rows)
}

function isFree(schema) {
  return bare(schema).def.type === 'unknown'
}

function code(text) {
  return `\`${text}\``
}

function meaning(schema) {
  return metaOf(schema).description ?? ''
}

function fallback(schema) {
  if (!isOptional(schema)) return 'required'
  const value = defaultOf(schema)
  return value === undefined ? '-' : code(yamlValue(value, true))
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
