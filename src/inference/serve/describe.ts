/** @file What a server says of itself: OpenAPI made of the export's manifest, and a page to read and try it. */
import { type ExportManifest, type ExportSlot, fieldsOf } from '../export/index.ts'

type Schema = Readonly<Record<string, unknown>>

const NUMBER = { type: 'number' } as const
const ID = {
  type: ['integer', 'string'],
  description: 'a whole number from 0 to 2^64-1; as text where it is above 2^53',
} as const
const WORD = { type: ['string', 'integer'], description: 'any text or id' } as const

/** What a raw field of an instance may be. */
function fieldSchema(slot: ExportSlot): Schema {
  const { feature } = slot
  if (slot.kind === 'dense' && !feature) {
    const items = slot.dtype === 'int64' ? { type: ['integer', 'string'] } : NUMBER
    return slot.width === 1 ? { oneOf: [items, listOf(items, 1, 1)] } : { ...listOf(items, slot.width, slot.width) }
  }
  if (!feature) return { oneOf: [ID, listOf(ID, 1)] }
  const notes = { ...FEATURE_NOTES[feature.kind] }
  return feature.kind === 'ids' ? notes : { oneOf: [notes, listOf(notes, 1)] }
}

const listOf = (items: Schema, minItems: number, maxItems = 100_000) => ({ type: 'array', items, minItems, maxItems })

const FEATURE_NOTES: Readonly<Record<string, Schema>> = {
  hash: WORD,
  vocabulary: WORD,
  bucketise: { ...NUMBER, description: 'put into a bucket' },
  log: { ...NUMBER, description: 'of which the logarithm is taken' },
  ids: { type: ['string', 'array'], description: 'ids in one text or as a list', items: ID },
}

/** The manifests of what is served: a model that scores, and the part of an index that makes users' vectors. */
export interface Described {
  readonly model?: ExportManifest | undefined
  readonly users?: ExportManifest | undefined
}

export function openApi({ model, users }: Described): object {
  const manifest = (model ?? users)!
  return {
    openapi: '3.1.0',
    info: {
      title: 'Oarfish model',
      version: `epoch ${manifest.epoch}`,
      description: `Written by ${manifest.createdBy} at ${manifest.createdAt}.`,
    },
    paths: {
      ...(model && { '/predict': { post: predictCall(model) } }),
      ...(users && { '/recall': { post: recallCall(users) } }),
      '/healthz': {
        get: { summary: 'Whether it serves, and which epoch.', responses: { 200: { description: 'it serves' } } },
      },
      '/metrics': {
        get: { summary: "Counts in Prometheus' text format.", responses: { 200: { description: 'text' } } },
      },
    },
  }
}

const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const ERROR = json({ type: 'object', properties: { error: { type: 'object' } } })
const REFUSALS = {
  400: { description: 'what is wrong with which sample', ...ERROR },
  413: { description: 'the request is too large', ...ERROR },
  503: { description: 'too many requests wait; try again', ...ERROR },
} as const
const EPOCH = { type: 'integer', description: 'of the model that scored' } as const
const IGNORED = {
  type: 'array',
  items: { type: 'string' },
  description: 'names in the request that the model does not know',
} as const

function requestBody(manifest: ExportManifest, more: Schema = {}) {
  const all = fieldsOf(manifest.slots)
  const required = all.filter(({ needed }) => needed).map(({ name }) => name)
  const fields = all.map(({ name, slots }) => [
    name,
    slots.length === 1 ? fieldSchema(slots[0]!) : { allOf: slots.map(fieldSchema) },
  ])
  const instance = { type: 'object', properties: Object.fromEntries(fields), required }
  const body = {
    type: 'object',
    properties: { instances: { type: 'array', items: instance, minItems: 1 }, ...more },
    ...(Object.keys(more).length === 0 ? { required: ['instances'] } : {}),
  }
  return {
    required: true,
    content: {
      'application/json': { schema: body, example: exampleOf(manifest) },
      'text/plain': { schema: { type: 'string' }, example: 'slot text or MultiSlot text, one sample a line' },
    },
  }
}

function predictCall(manifest: ExportManifest): object {
  const outputs = manifest.outputs.map(({ name, shape }) => [
    name,
    { type: 'array', description: `one of [${shape.slice(1).join(', ')}] a sample` },
  ])
  const answer = {
    type: 'object',
    properties: {
      scores: { type: 'array', items: NUMBER, description: 'one a sample' },
      outputs: { type: 'object', properties: Object.fromEntries(outputs) },
      epoch: EPOCH,
      ignored: IGNORED,
    },
    required: ['scores', 'outputs', 'epoch'],
  }
  return {
    summary: 'Score samples.',
    requestBody: requestBody(manifest),
    responses: { 200: { description: 'scores in the order of the samples', ...json(answer) }, ...REFUSALS },
  }
}

function recallCall(manifest: ExportManifest): object {
  const lists = (items: Schema) => ({ type: 'array', items: { type: 'array', items }, description: 'one list a user' })
  const answer = {
    type: 'object',
    properties: { ids: lists({ type: 'string' }), scores: lists(NUMBER), epoch: EPOCH, ignored: IGNORED },
    required: ['ids', 'scores', 'epoch'],
  }
  const ids = { type: 'array', items: ID }
  const more = {
    k: { type: 'integer', minimum: 1, description: 'how many items; 50 unless given' },
    exclude: {
      description:
        'what is left out: ids, a list of ids for each user, a slot of theirs, or true for all that they have seen',
      oneOf: [ids, { type: 'array', items: ids }, { type: 'string' }, { type: 'boolean' }],
    },
    items: { ...ids, description: 'instead of instances: items, to find those like them' },
  }
  return {
    summary: 'Find the nearest items of users.',
    requestBody: requestBody(manifest, more),
    responses: {
      200: { description: 'items and scores, nearest first, in the order of the users', ...json(answer) },
      ...REFUSALS,
      404: { description: 'the index has no such item', ...ERROR },
    },
  }
}

/** A request with one sample of zeros. */
function exampleOf({ slots }: ExportManifest) {
  const fields = fieldsOf(slots).filter(({ needed }) => needed)
  const values = fields.map(({ name, filling }) => [name, filling.length === 1 ? filling[0] : filling])
  return { instances: [Object.fromEntries(values)] }
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const DOES = { '/predict': 'scores samples', '/recall': 'finds the nearest items of users' } as const

/** One page without anything from elsewhere: the fields, an example, a button that sends it. */
export function docsPage(manifest: ExportManifest, path: '/predict' | '/recall' = '/predict'): string {
  const example = exampleOf(manifest)
  const kindOf = (slot: ExportSlot) =>
    slot.feature?.kind ?? (slot.kind === 'sparse' ? 'ids' : `${slot.width} ${slot.dtype}`)
  const rows = fieldsOf(manifest.slots)
    .map(({ name, slots, needed }) => {
      const kind = slots.map(kindOf).join(', ')
      const wanted = needed ? 'yes' : 'no'
      return `<tr><td><code>${escaped(name)}</code></td><td>${escaped(kind)}</td><td>${wanted}</td></tr>`
    })
    .join('\n')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Oarfish model</title>
<style>body{font:15px system-ui;max-width:50em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.2em .7em;text-align:left}textarea{width:100%;height:12em;font-family:monospace}pre{background:#f3f3f3;padding:1em;overflow:auto}</style></head>
<body><h1>Oarfish model, epoch ${manifest.epoch}</h1>
<p><code>POST ${path}</code> ${DOES[path]}; <a href="/openapi.json"><code>/openapi.json</code></a> describes it for programs; <a href="/healthz"><code>/healthz</code></a>, <a href="/metrics"><code>/metrics</code></a>.</p>
<table><tr><th>field</th><th>what</th><th>required</th></tr>
${rows}
</table>
<h2>Try it</h2>
<textarea id="body">${escaped(JSON.stringify(example, null, 2))}</textarea>
<p><button id="send">POST ${path}</button></p><pre id="answer"></pre>
<script>
document.getElementById('send').onclick = async () => {
  const answer = document.getElementById('answer')
  try {
    const response = await fetch('${path}', { method: 'POST', headers: { 'content-type': 'application/json' }, body: document.getElementById('body').value })
    answer.textContent = response.status + '\\n' + (await response.text())
  } catch (error) { answer.textContent = String(error) }
}
</script></body></html>
`
}
