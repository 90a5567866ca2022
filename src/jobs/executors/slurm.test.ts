import { expect, test } from 'vitest'
import { parseState } from './slurm.ts'

// As Slurm 22.05 prints it, shortened.
const line = (state: string, reason: string, exit: string) =>
  `JobId=7 JobName=ctr UserId=root(0) GroupId=root(0) Priority=1 JobState=${state} Reason=${reason} Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=${exit} RunTime=00:00:03 Partition=all ReqNodeList=(null) ExcNodeList=(null) NodeList=slurm-[0-1] NumNodes=2`

test('what scontrol says', () => {
  expect(parseState(line('PENDING', 'Resources', '0:0'))).toMatchObject({ isOver: false, waiting: 'Resources' })
  expect(parseState(line('RUNNING', 'None', '0:0'))).toMatchObject({ isOver: false, waiting: '', nodes: 'slurm-[0-1]' })
  expect(parseState(line('COMPLETING', 'None', '0:0')).isOver).toBe(false)
  expect(parseState(line('COMPLETED', 'None', '0:0'))).toMatchObject({ isOver: true, exitCode: 0 })
  expect(parseState(line('FAILED', 'NonZeroExitCode', '3:0'))).toMatchObject({ isOver: true, exitCode: 3 })
  expect(parseState(line('CANCELLED', 'None', '0:15'))).toMatchObject({ isOver: true, name: 'CANCELLED' })
})
