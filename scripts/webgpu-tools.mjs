/**
 * @file A WebGPU adapter in software for tests: SwiftShader, which Debian's chromium-common carries. Installs it by apt where it is missing and
 * it may; prints nothing when all is there, otherwise says on stderr what to install and exits 1.
 */
import { installed } from './apt.mjs'

const PACKAGES = {
  '/usr/lib/chromium/vk_swiftshader_icd.json': 'chromium-common',
  '/usr/lib/x86_64-linux-gnu/libvulkan.so.1': 'libvulkan1',
}

const missing = process.arch === 'x64' ? installed(PACKAGES) : ['an x64 Debian']
if (missing.length > 0) {
  console.error(`Tests of WebGPU lack something here: install ${missing.join(' and ')} (Debian: apt install).`)
  process.exit(1)
}
