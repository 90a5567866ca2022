/**
 * @file Devices of this host: looked for, found, what is missing, and which one a process computes on.
 * Knows nothing of graphs or of onnxruntime beyond where its libraries lie.
 */
export { DEVICE_VARIABLE, type DeviceKeys, type DeviceRequest, requestedDevice } from './ask.ts'
export { ASK_DEVICES, type Choice, chooseDevice, lookedFor } from './choose.ts'
export { type Adapter, CPU, DEVICE_NAMES, type Device, type DeviceName, PROVIDERS, type Provider } from './device.ts'
export { deviceCount, type FoundDevices, findDevices, type HostFacts, hardware, SWIFTSHADER } from './find.ts'
export { lookAtHost } from './host.ts'
export { computesOn, hostDevices, openDevice } from './open.ts'
