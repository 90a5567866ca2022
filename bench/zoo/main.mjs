/** @file Runs report.ts, compiled on the fly. */
import { createJiti } from 'jiti'

await createJiti(import.meta.url).import('./report.ts')
