/** @file What a submitted job must look like: the check of the server and the schema of its description, in one. */
import { z } from 'zod'
import { JOB_KINDS, POD_FRAMEWORKS, PRIORITIES } from '../config/index.ts'

const resources = z.strictObject({
  cpu: z.int().min(1).optional(),
  memory: z.string().optional(),
  gpu: z.strictObject({ resource: z.string(), cards: z.int().min(1) }).optional(),
})

const path = z.string().optional()

export const jobRequestSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/, 'expected letters, digits, _, - and . (up to 63)'),
  group: z.string().min(1),
  priority: z.enum(PRIORITIES),
  kind: z.enum(JOB_KINDS),
  roles: z
    .array(z.strictObject({ name: z.enum(['pserver', 'trainer']), replicas: z.int().min(1).max(10_000), resources }))
    .min(1),
  command: z.string().min(1),
  env: z.record(z.string().regex(/^[A-Za-z_]\w*$/, 'expected the name of a variable'), z.string()),
  files: z
    .array(
      z.strictObject({
        name: z.string(),
        bytes: z.int().min(0),
        sha256: z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256 in hex'),
      }),
    )
    .max(10_000),
  pods: z
    .strictObject({
      framework: z.enum(POD_FRAMEWORKS),
      image: z.string().optional(),
      namespace: z.string().optional(),
      scheduler: z.string().optional(),
      serviceAccount: z.string().optional(),
      pullSecrets: z.array(z.string()).optional(),
      maxRetry: z.int().min(0).optional(),
    })
    .optional(),
  data: z.strictObject({ fileSystem: path, train: path, test: path, thirdparty: path, mount: path, output: path }),
})
