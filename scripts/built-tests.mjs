/** @file Before any test, and before each run of `vitest --watch`: dist/ is built from the sources as they are, since threads and commands run from there. */
import { at, node } from './setup.mjs'

const WRONG_TYPES = 2

export default async function setup(project) {
  await build()
  project.onTestsRerun(build)
}

async function build() {
  const code = await node(at('scripts', 'build.mjs'))
  if (code === WRONG_TYPES) console.warn('Tests run in spite of these types: what is built is new.')
  else if (code !== 0) throw new Error('npm run build failed: tests would run old code.')
}
