/** @file src/ as JavaScript in dist/, a few files a folder: Node takes longer to find and link hundreds of modules than to run them. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { at } from './setup.mjs'

/** Writes the bundle and returns the names of its files, relative to dist/. */
export async function bundle() {
  const sources = readdirSync(at('src'), { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(name))
    .map((entry) => nameOf(join(entry.parentPath, entry.name)))
  // Run by path, as a process or a thread: files of their own. The faces are what other code may import.
  const started = new Set(['cli/main', ...sources.flatMap(startedBy)])
  const faces = sources.filter((name) => /^([\w-]+\/){0,2}index$/.test(name) || isPublic(name))
  // Folders import each other in one direction, so their files do too: `data`, or `weights/table` on its floor.
  const folders = new Set([...faces.map((name) => dirname(name)), 'cli'])
  const folderOf = (id) => {
    const [floor, folder] = nameOf(id).split('/')
    const own = [floor, `${floor}/${folder}`].find((name) => folders.has(name))
    return own === undefined || started.has(nameOf(id)) ? null : `${own}/folder`
  }
  const build = await rolldown({
    input: Object.fromEntries([...started, ...faces].map((name) => [name, at('src', `${name}.ts`)])),
    platform: 'node',
    external: /^[^./]/, // dependencies are npm's to install
    preserveEntrySignatures: 'allow-extension',
    // Such as a lazy import within a folder: its file holds both, so it would load nothing later.
    onLog: (_level, { message }) => {
      throw new Error(message)
    },
  })
  const { output } = await build.write({
    dir: at('dist'),
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    // A file that is only loaded later keeps its place; of a folder's file, what follows are the entries that load it.
    chunkFileNames: ({ name, isDynamicEntry, facadeModuleId }) =>
      `${isDynamicEntry && facadeModuleId ? nameOf(facadeModuleId) : name.split('~')[0]}.js`,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: folderOf, debugName: 'folder', minSize: 0, entriesAware: true }],
    },
  })
  await build.close()
  return output.map(({ fileName }) => fileName)
}

/** `oarfish` and `oarfish/nn`, by the name of their source. */
function isPublic(name) {
  const { exports } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  return Object.values(exports).some((entry) => entry.default === `./dist/${name}.js`)
}

/** A source by its path below src/, as imports within the package spell it. */
const nameOf = (path) => relative(at('src'), path).replaceAll(sep, '/').replace(/\.ts$/, '')

/** What a source starts or loads by its path. */
function startedBy(source) {
  const text = readFileSync(at('src', `${source}.ts`), 'utf8')
  return [...text.matchAll(/\bbuiltFile\('([\w/-]+)'\)/g)].map(([, name]) => name)
}
