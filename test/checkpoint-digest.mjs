/** @file What a checkpoint holds, whatever the order of its rows: a hash of dense weights, and of each table's rows by their signs. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
const { tables } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
const hash = createHash('sha256').update(readFileSync(join(folder, 'dense.bin')))
let count = 0
for (const { name, rowBytes, parts } of tables) {
  const rows = parts.flatMap((part) => {
    const [signs, values] = [part.signs, part.values].map((file) => readFileSync(join(folder, file)))
    return Array.from({ length: part.rows }, (_, i) => [
      signs.subarray(i * 8, (i + 1) * 8).toString('hex'),
      values.subarray(i * rowBytes, (i + 1) * rowBytes).toString('hex'),
    ])
  })
  count += rows.length
  hash.update(name)
  for (const row of rows.sort()) hash.update(row.join())
}
console.log(`${count} rows, ${hash.digest('hex')}`)
