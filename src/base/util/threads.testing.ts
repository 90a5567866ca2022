/** @file A thread that says what it was given: run by threads.test.ts. */
import { getEnvironmentData, type MessagePort, parentPort } from 'node:worker_threads'
import { threadSettings } from './threads.ts'

const { name, port } = threadSettings<{ readonly name: string; readonly port: MessagePort }>()
port.postMessage({ name, shared: getEnvironmentData('of threads.test') })
// What was sent before it listened is not lost.
parentPort!.on('message', (message) => port.postMessage({ name, message }))
