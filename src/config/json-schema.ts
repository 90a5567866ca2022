/** @file The schema for editors: `# yaml-language-server: $schema=…/config.schema.json`. */
import { z } from 'zod'
import { userConfigSchema } from './schema.ts'

/** JSON Schema (draft 7, which yaml editors know best) of config.yaml. */
export function jsonSchema(): object {
  const schema = z.toJSONSchema(userConfigSchema, {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema: node }) => {
      const { example, expected: _expected, aliases, refused: _refused, ...rest } = node as Record<string, unknown>
      for (const key of Object.keys(node)) delete (node as Record<string, unknown>)[key]
      Object.assign(node, rest)
      if (example !== undefined) Object.assign(node, { examples: [example] })
      if (Array.isArray(node.enum) && aliases) node.enum = [...node.enum, ...Object.keys(aliases)]
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum
    },
  })
  return { ...schema, title: 'Oarfish config.yaml' }
}
