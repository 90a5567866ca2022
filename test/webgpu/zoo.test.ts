/** @file `npm run zoo`: every model that ships. */
import { CONFIGS, zooTests } from './zoo.testing.ts'

zooTests('the zoo', CONFIGS)
