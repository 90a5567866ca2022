/** @file What the facts of a machine mean for Oarfish: ok, worth knowing, or to be mended, each with what to do. Pure. */
import { sizeText } from '../base/util/index.ts'
import type { HostFacts } from './doctor-facts.ts'

export interface HostFinding {
  readonly check: string
  /** Undefined: not there, and only needed for what the text says. */
  readonly ok: boolean | 'warn' | undefined
  readonly text: string
  readonly fix?: string | undefined
}

type Answer = Omit<HostFinding, 'check'>

const ok = (text: string): Answer => ({ ok: true, text })
const warn = (text: string, fix: string): Answer => ({ ok: 'warn', text, fix })
const fail = (text: string, fix: string): Answer => ({ ok: false, text, fix })
const absent = (text: string, fix: string): Answer => ({ ok: undefined, text, fix })

export function examineHost(facts: HostFacts): readonly HostFinding[] {
  return Object.entries(CHECKS).map(([check, look]) => ({ check, ...look(facts) }))
}

const MiB = 2 ** 20
const GiB = 2 ** 30

const CHECKS: Readonly<Record<string, (facts: HostFacts) => Answer>> = {
  node: ({ node, system }) => {
    const [major = 0, minor = 0] = node.split('.').map(Number)
    if (major < 20 || (major === 20 && minor < 19))
      return fail(`${node} on ${system}`, 'Oarfish needs Node 20.19 or later: https://nodejs.org, or nvm install 22')
    if (major % 2 === 1)
      return warn(
        `${node}, which is no long-term version, on ${system}`,
        'Even numbers are kept up for years: nvm install 22',
      )
    return ok(`${node} on ${system}`)
  },
  cpu: ({ cpu: { model, cores, flags, simd } }) => {
    const fast = ['avx512f', 'avx2', 'asimd'].find((flag) => flags.includes(flag))
    const text = `${cores} cores, ${model}${fast ? `, ${fast}` : ''}`
    if (!simd)
      return fail(
        `${text}: no SIMD in WebAssembly`,
        'The kernels need it: another processor, or Node without --jitless',
      )
    if (!fast && flags.length > 1)
      return warn(
        `${text}: neither AVX2 nor NEON`,
        'onnxruntime computes several times slower here; a virtual machine may hide them (cpu: host)',
      )
    return ok(text)
  },
  memory: ({ memory: { total, free, limit } }) => {
    const most = Math.min(total, limit ?? total)
    const text = `${sizeText(most)}${limit === undefined ? '' : ' (limit of the container)'}, ${sizeText(free)} free`
    return most < 2 * GiB
      ? warn(
          text,
          'Tables live in memory: 2 GB is little. Use fewer rows, or divide them among servers (docs/guide/parameter-server.md)',
        )
      : ok(text)
  },
  limits: ({ openFiles, processes }) => {
    const text = `${amount(openFiles)} open files, ${amount(processes)} processes`
    if ((openFiles ?? 4096) < 4096)
      return warn(text, 'A job of many processes opens more: ulimit -n 65536 (LimitNOFILE= of a service)')
    if ((processes ?? 4096) < 1024)
      return warn(text, 'Threads count as processes: ulimit -u 8192 (pids.max of a container)')
    return ok(text)
  },
  '/dev/shm': ({ shm }) => {
    if (!shm)
      return warn(
        'there is none',
        'Processes of one machine talk over TCP instead, more slowly: mount -t tmpfs tmpfs /dev/shm',
      )
    const text = `${sizeText(shm.total)}, ${sizeText(shm.free)} free`
    return shm.free < 256 * MiB
      ? warn(
          text,
          'Processes of one machine share memory there: docker run --shm-size=1g, an emptyDir of medium Memory in a pod',
        )
      : ok(text)
  },
  disk: ({ temporary: { path, free }, cache }) => {
    const text = `${sizeText(free)} free in ${path}`
    if (free < 512 * MiB) return warn(text, 'Make room there, or set TMPDIR to another folder')
    return cache
      ? ok(text)
      : warn(`${text}; ~/.cache/oarfish cannot be written`, 'Models start more slowly: set HOME to a folder of yours')
  },
  onnxruntime: ({ onnxruntime: { version, failure } }) =>
    failure === undefined
      ? ok(`${version} computes`)
      : fail(
          failure,
          'It is native code: install again on this machine (npm ci --ignore-scripts); Alpine needs a glibc image (node:22-slim)',
        ),
  koffi: ({ koffi }) =>
    koffi === undefined
      ? ok('loads: shared memory, MPI')
      : warn(koffi, 'Jobs of several processes need it: npm install --ignore-scripts koffi'),
  devices: ({ devices }) =>
    ok(devices.length === 0 ? 'no accelerator; the CPU computes' : `${devices.join(', ')} are there; the CPU computes`),
  mpi: ({ programs: { mpirun } }) =>
    mpirun === undefined
      ? absent(
          'no mpirun; only jobs over MPI need it',
          'apt install openmpi-bin libopenmpi-dev; OARFISH_MPI_LIBRARY names a library elsewhere',
        )
      : ok(mpirun),
  ssh: ({ programs: { ssh, tar } }) =>
    ssh === undefined || tar === undefined
      ? absent(
          `no ${ssh === undefined ? 'ssh' : 'tar'}; only jobs on other hosts need it`,
          'apt install openssh-client tar',
        )
      : ok(ssh),
  kubectl: ({ programs: { kubectl } }) =>
    kubectl === undefined
      ? absent(
          'not there; only Kubernetes needs it',
          'https://kubernetes.io/docs/tasks/tools; oarfish run -b itself does without',
        )
      : ok(kubectl),
  volcano: ({ kubeconfig }) =>
    kubeconfig
      ? { ok: undefined, text: 'there is a kubeconfig: oarfish doctor --kube looks at the cluster and its Volcano' }
      : absent('no kubeconfig; only Kubernetes needs it', 'KUBECONFIG=FILE oarfish doctor --kube'),
  ports: ({ port }) =>
    port === undefined
      ? ok('processes here can listen and connect')
      : fail(
          `no port of 127.0.0.1 can be had: ${port}`,
          'ip link set lo up; look at net.ipv4.ip_local_port_range (sysctl)',
        ),
  clock: ({ clock: { synchronized, skew, year } }) => {
    if (year < 2025)
      return fail(
        `it is ${year} here`,
        'Set the clock: signed requests and certificates are refused. timedatectl set-ntp true',
      )
    if (skew !== undefined && Math.abs(skew) > 5)
      return (Math.abs(skew) > 60 ? fail : warn)(
        `${Math.abs(skew)} s ${skew > 0 ? 'ahead of' : 'behind'} the job server`,
        'timedatectl set-ntp true, on both',
      )
    if (synchronized === false)
      return warn('not synchronized', 'Times in logs of several hosts will not agree: timedatectl set-ntp true')
    return ok(skew === undefined ? 'nobody to compare it with but the calendar' : `${skew} s from the job server's`)
  },
}

const amount = (value: number | undefined) =>
  value === undefined ? '?' : Number.isFinite(value) ? value.toLocaleString('en-US') : 'unlimited'
